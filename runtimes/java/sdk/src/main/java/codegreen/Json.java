package codegreen;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON (RFC 8259) as maps, lists, strings, numbers, booleans and null. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** The value that a text is; IllegalArgumentException where it is none. */
    static Object parse(String text) {
        Json j = new Json(text);
        try {
            Object value = j.value();
            j.space();
            if (j.at != text.length()) throw j.bad();
            return value;
        } catch (StringIndexOutOfBoundsException e) {
            throw j.bad();
        }
    }

    private IllegalArgumentException bad() {
        return new IllegalArgumentException("no JSON at character " + at);
    }

    private void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
    }

    private boolean takes(char c) {
        space();
        if (text.charAt(at) != c) return false;
        at++;
        return true;
    }

    private Object value() {
        space();
        if (takes('{')) {
            Map<String, Object> map = new LinkedHashMap<>();
            if (takes('}')) return map;
            do {
                if (!takes('"')) throw bad();
                String key = string();
                if (!takes(':')) throw bad();
                map.put(key, value());
            } while (takes(','));
            if (!takes('}')) throw bad();
            return map;
        }
        if (takes('[')) {
            List<Object> list = new ArrayList<>();
            if (takes(']')) return list;
            do list.add(value());
            while (takes(','));
            if (!takes(']')) throw bad();
            return list;
        }
        if (takes('"')) return string();
        int from = at;
        while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) at++;
        String word = text.substring(from, at);
        switch (word) {
            case "true":
                return true;
            case "false":
                return false;
            case "null":
                return null;
            default:
                return Double.valueOf(word); // NumberFormatException is an IllegalArgumentException
        }
    }

    private String string() {
        StringBuilder b = new StringBuilder();
        for (char c; (c = text.charAt(at++)) != '"'; ) {
            if (c != '\\') {
                b.append(c);
                continue;
            }
            c = text.charAt(at++);
            int known = "bfnrt".indexOf(c);
            if (c == 'u') {
                b.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                at += 4;
            } else {
                b.append(known >= 0 ? "\b\f\n\r\t".charAt(known) : c);
            }
        }
        return b.toString();
    }

    /** Writes a value. What is no number is null. */
    static void write(Appendable to, Object value) throws IOException {
        if (value instanceof Map<?, ?> map) {
            String before = "{";
            for (Map.Entry<?, ?> e : map.entrySet()) {
                to.append(before);
                quote(to, e.getKey().toString());
                to.append(':');
                write(to, e.getValue());
                before = ",";
            }
            to.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> all) {
            String before = "[";
            for (Object o : all) {
                to.append(before);
                write(to, o);
                before = ",";
            }
            to.append(before.equals("[") ? "[]" : "]");
        } else if (value instanceof Double d && (d.isNaN() || d.isInfinite())) {
            to.append("null");
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            to.append(String.valueOf(value));
        } else {
            quote(to, value.toString());
        }
    }

    private static void quote(Appendable to, String s) throws IOException {
        to.append('"');
        for (int i = 0; i < s.length(); i++) {
            char c = s.charAt(i);
            boolean alone = Character.isHighSurrogate(c)
                ? i + 1 == s.length() || !Character.isLowSurrogate(s.charAt(i + 1))
                : Character.isLowSurrogate(c) && (i == 0 || !Character.isHighSurrogate(s.charAt(i - 1)));
            if (c == '"' || c == '\\') to.append('\\').append(c);
            else if (c < 0x20 || c == 0x7f || alone) to.append(String.format("\\u%04x", (int) c));
            else to.append(c);
        }
        to.append('"');
    }
}
