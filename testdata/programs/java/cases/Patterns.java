// Patterns of instanceof with the scope that the flow gives them, sealed types
// and text blocks, also those that hold braces.
public class Patterns {
    sealed interface Shape permits Circle, Square, Other {}
    record Circle(double r) implements Shape {}
    static final class Square implements Shape { double a = 2; }
    static non-sealed class Other implements Shape { }
    static double area(Shape s) { if (s instanceof Circle c) { return 3 * c.r() * c.r(); } if (!(s instanceof Square q)) { return -1; } return q.a * q.a; }
    static int length(Object o) { while (!(o instanceof String s && s.length() > 1)) { o = o + "x"; } return s.length(); }
    static boolean same(Object o) { return o instanceof final Circle c && c.r > 1 || o instanceof Square; }
    static String text() { return """
        {
          "a": "}", \
          '\""" // not a comment
        }\u0021""" + """
""" + '}' + "{\"}"; }
    public static void main(String[] args) {
        System.out.println(area(new Circle(2)) + area(new Square()) + area(new Other()) + length("") + length("abc") + " " + same(new Circle(2)));
        System.out.println(text());
        Shape s = new Circle(1);
        Square q = (Square) s;
    }
}
