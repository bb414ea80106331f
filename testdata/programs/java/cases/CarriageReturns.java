// Lines that end with a carriage return and a line feed, or with one of
// them alone.
public class CarriageReturns {
    static int f() { // {        return 1; } // }
    static int g() {
        return 2; /*  */ }    public static void main(String[] args) {
        System.out.println(f() + g());        throw new RuntimeException("line");
    }
}
