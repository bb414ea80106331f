// This file has no checkpoints of cg's.
// Routes of Express and Fastify as tasks.
'use strict';

/** Middleware of Express: each request is a task with the name of its route, such as "GET /users/:id". */
function express(context) {
  return function codegreen(request, response, next) {
    const task = context.startTask(request.method);
    response.once('close', () => {
      const route = request.route ? (request.baseUrl || '') + request.route.path : '(no route)';
      finish(task, request.method + ' ' + route);
    });
    context.run(task, next);
  };
}

/** A plugin of Fastify that does the same. */
function fastify(context) {
  function codegreen(server, options, done) {
    server.addHook('onRequest', (request, reply, next) => {
      const task = context.startTask(request.method);
      // A request that the client breaks off has no onResponse.
      reply.raw.once('close', () => {
        const { url } = request.routeOptions || {};
        finish(task, request.method + ' ' + (url || '(no route)'));
      });
      context.run(task, next);
    });
    done();
  }
  codegreen[Symbol.for('skip-override')] = true; // it is for all routes of the server
  codegreen[Symbol.for('fastify.display-name')] = 'codegreen';
  return codegreen;
}

/** Ends the task of a request, which counts one unit of work. */
function finish(task, name) {
  task.rename(name);
  task.count(1, 'request');
  task.endAll();
}

module.exports = { express, fastify };
