// Braces in comments, strings, characters; comments behind and before braces;
// bodies on one line and with nothing in them.
public class Comments { // {
    /* { /* } */ void a() { /* } */ } // }
    void b() { // {{{
        // }
    } /** } */ void c() {/**/} void d() {} void e() {
    }
    int f(/* { */ int x /* } */) /* { */ { /* { */ return /* } */ x /* ; */ ; /* } */ } /* } */
    char g() { return '{'; } char h() { return '\''; } char i() { return '"'; } String j() { return "\"}"; } String k() { return "//{"; } int l() { return 4 /*
        } */ / 2; } //* {
    int m() { return 1; }//
    /*/ { /*/ int n() { return 'n'//}
        ; }
    public static void main(String[] args) { Comments c = new Comments(); c.a(); c.b(); c.c(); c.d(); c.e(); System.out.println("" + c.f(1) + c.g() + c.h() + c.i() + c.j() + c.k() + c.l() + c.m() + c.n()); throw new RuntimeException(/* } */ "end" // }
        ); }
}
