// This file has no checkpoints of cg's.
// Code generated from runtimes/sdk/spec/constants.txt of cg by go generate. DO NOT EDIT.
'use strict';

// Requests that are told to cg (docs/monitor.md): the variable that names its socket, and characters of a
// name.
const REQUEST_SOCKET_VARIABLE = "CG_SOCKET";
const REQUEST_NAME_MOST = 200;

// Ends that wait for a socket that is full; the connection is closed where there are more.
const REQUEST_UNSENT_MOST = 1000;

// Time between two attempts to connect.
const REQUEST_RETRY_NS = 1000000000;

// Budgets of energy in tests (docs/budgets.md): the runs at most of a test that says nothing else, the most that it
// may say, and the runs from which on a mean has an interval.
const BUDGET_RUNS = 5;
const BUDGET_RUNS_MOST = 10;
const BUDGET_LEAST_RUNS = 3;

// By how many standard errors a mean reaches at 95 % (Student's t), of so many runs and each one more.
const BUDGET_STUDENT = [4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

// Units of a budget, and their joules.
const BUDGET_UNITS = ["mJ", "J", "kJ", "MJ", "mWh", "Wh", "kWh"];
const BUDGET_UNIT_J = [1e-3, 1.0, 1e3, 1e6, 3.6, 3.6e3, 3.6e6];

// Verdicts; the fourth asks for one run more.
const BUDGET_WITHIN = "within";
const BUDGET_EXCEEDED = "exceeded";
const BUDGET_OPEN = "not told";
const BUDGET_REPEAT = "repeat";
const BUDGET_UNKNOWN = "not known";

module.exports = {
  REQUEST_SOCKET_VARIABLE,
  REQUEST_NAME_MOST,
  REQUEST_UNSENT_MOST,
  REQUEST_RETRY_NS,
  BUDGET_RUNS,
  BUDGET_RUNS_MOST,
  BUDGET_LEAST_RUNS,
  BUDGET_STUDENT,
  BUDGET_UNITS,
  BUDGET_UNIT_J,
  BUDGET_WITHIN,
  BUDGET_EXCEEDED,
  BUDGET_OPEN,
  BUDGET_REPEAT,
  BUDGET_UNKNOWN,
};
