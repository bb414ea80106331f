// Measures parts of a program in C++: tasks end with their scopes.
#include "codegreen.h"

#include <iostream>
#include <stdexcept>

static long squares(long n)
{
	if (n < 0)
		throw std::runtime_error("nothing to add");
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum += i * i % 7;
	return sum;
}

int main()
{
	codegreen::session session("example");
	{
		codegreen::task all("all");
		try {
			codegreen::task load("load"); // inside all; ends with the exception
			std::cout << "load " << squares(80000000) << "\n";
			squares(-1);
		} catch (const std::runtime_error &e) {
			std::cout << e.what() << "\n";
		}
		codegreen::task train("train");
		std::cout << "train " << squares(40000000) << "\n";
		train.end();
		std::cout << "train: " << train.energy().energy_j << " J\n";
	}
	std::cout << "to be written: " << codegreen_file() << "\n";
}
