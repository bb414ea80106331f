// What reflection and serialization see of classes: members in the order of
// their names, numbers that are computed from them, and a round trip.
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Supplier;

public class Reflection {
    static class Plain implements Serializable {
        static int count;
        private int a = 1;
        protected transient String b;
        static { count = 3; }
        { a += 1; }

        Plain() { super(); b = "b"; }
        Plain(int a) { this(); this.a = a; }
        public int a() { return a; }
        private static Plain of(int a) { return new Plain(a); }
        synchronized final void lock() throws InterruptedException { assert a > 0; wait(1); }
    }

    static class Fixed extends Plain {
        private static final long serialVersionUID = 42;
        Supplier<Integer> lambda() { return () -> { return count; }; }
        Object anonymous() { return new Object() { @Override public String toString() { return "anonymous"; } }; }
    }

    interface Shape extends Serializable { default double area() { return 0; } static Shape none() { return null; } private int p() { return 1; } }

    record Point(int x, int y) implements Shape {
        Point { if (x < 0) throw new IllegalArgumentException(); }
        Point(int x) { this(x, 0); }
    }

    enum Level implements Serializable { LOW { @Override int weight() { return 1; } }, HIGH; int weight() { return 2; } }

    static void tell(Class<?> c) {
        List<String> all = new ArrayList<>();
        for (Executable e : c.getDeclaredConstructors())
            all.add(e.toGenericString() + " " + Modifier.toString(e.getModifiers()) + e.isSynthetic());
        for (Method m : c.getDeclaredMethods())
            all.add(m.toGenericString() + " " + m.isSynthetic() + m.isBridge() + m.isDefault());
        for (Field f : c.getDeclaredFields())
            all.add(f.toGenericString() + " " + f.isSynthetic());
        for (Class<?> n : c.getDeclaredClasses())
            all.add("class " + n.getName() + " " + Modifier.toString(n.getModifiers()));
        Collections.sort(all);
        System.out.println(c + " " + Modifier.toString(c.getModifiers()) + " " + c.getSuperclass() + " " + c.getEnclosingMethod());
        all.forEach(line -> System.out.println("  " + line));
        ObjectStreamClass s = ObjectStreamClass.lookup(c);
        if (s != null)
            System.out.println("  " + s.getSerialVersionUID());
    }

    public static void main(String[] args) throws Exception {
        for (Class<?> c : new Class<?>[] {Reflection.class, Plain.class, Fixed.class, Shape.class, Point.class, Level.class, Level.LOW.getClass(), new Fixed().anonymous().getClass()})
            tell(c);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new Plain(5));
            out.writeObject(new Point(6));
            out.writeObject(Level.HIGH);
        }
        System.out.println(bytes.size());
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            System.out.println(((Plain) in.readObject()).a() + " " + in.readObject() + " " + in.readObject());
        }
        System.out.println(Plain.of(7).a() + " " + new Fixed().lambda().get() + " " + Level.LOW.weight() + Level.HIGH.weight());
        try {
            Point.class.getDeclaredConstructor(int.class, int.class).newInstance(-1, 0);
        } catch (java.lang.reflect.InvocationTargetException e) {
            System.out.println(e.getCause());
        }
    }
}
