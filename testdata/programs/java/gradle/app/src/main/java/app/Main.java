package app;

import lib.Numbers;

public class Main {
    public static void main(String[] args) {
        System.out.println(Numbers.fib(20));
    }
}
