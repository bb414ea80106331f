// encoding: ISO-8859-1
// Bytes that are not UTF-8 in names, strings and comments.
public class Latin {
    /* ä } */ static String grüße(String é) { return é + "ü}ÿ"; } // ÿ {
    public static void main(String[] args) { System.out.println(grüße("ä").codePoints().sum()); throw new RuntimeException("end"); }
}
