package m;

public class Main {
    public static void main(String[] args) {
        cg$.R.e(1); try {
        System.out.println(Main.class.getModule());
        } finally { cg$.R.x(1); }
    }
}
