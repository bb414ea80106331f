package shop.desk;

import shop.stock.Stock;

/** The desk: Lager für Schrauben. */
public class Main {
    static final String NAME = "für";

    public static void main(String[] args) {
        Stock stock = new Stock();
        for (String a : args)
            stock.add(a, 1);
        System.out.println(NAME.length() + " " + Stock.orders(20) + " " + stock.count("bolt"));
    }
}
