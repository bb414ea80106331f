// Unicode escapes are read before anything else: braces, names, quotes and
// ends of lines may be written as such.
public class Escapes \u007b
    static int \u0061b() \uuu007B return 1; \u007D
    static String \u00e9t\u00e9() { return "\u0022 + "\u005c"" + '\u005c'' + "\u005c\u005c" + "\\u007d" + "\u00e9".length(); }
    // a comment that ends \u000a static int hidden() { return 2; }
    /* \u002a/ static int after() { return 3; } /* } */
    \u0073tatic void fails() { throw new IllegalStateException(); \u007d
    public static void main(String[] args) {
        System.out.println(ab() + e\u0301\u0074() + \u00e9t\u00e9() + hidden() + after());
        fails();
    }
    static int e\u0301t() { return 4; }
\u007d
