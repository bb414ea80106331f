// Static and instance initialisers run in the order of the text, assign blank
// finals, and fail with the traces they have.
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;

public class Initializers {
    static final int A; static final List<String> LOG = new ArrayList<>();
    static { LOG.add("first"); int a = 0; for (int i = 0; i < 3; i++) { if (i == 2) break; a += i; } A = a; }
    static final int B = A + 1;
    static
    {
        LOG.add("second " + B);
    }
    static {}
    final int x; final String y;
    { LOG.add("instance"); x = B; }
    {
        if (x > 1) { y = "more"; } else { y = "less"; }
    }
    {}
    Initializers() { LOG.add("constructor " + x + y); }
    Initializers(int z) { this(); LOG.add("other " + z); }

    static class Fails {
        static int n = 1;
        static {
            if (n == 1) throw new IllegalStateException("static");
        }
    }
    static class Checked {
        { if (LOG != null) throw new java.io.IOException("checked"); }
        Checked() throws java.io.IOException {}
    }
    interface Constants { List<Integer> L = new ArrayList<>() {{ add(1); { add(2); } }}; }

    public static void main(String[] args) throws Exception {
        new Initializers(); new Initializers(3);
        System.out.println(LOG);
        System.out.println(new HashMap<String, Integer>() {{ put("a", 1); put("b", 2); }});
        System.out.println(Constants.L);
        try { System.out.println(Fails.n); } catch (ExceptionInInitializerError e) { e.printStackTrace(); }
        try { System.out.println(Fails.n); } catch (NoClassDefFoundError e) { System.out.println("gone"); }
        try { new Checked(); } catch (java.io.IOException e) { e.printStackTrace(); }
    }
}
