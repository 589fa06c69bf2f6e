package logcause

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFind(t *testing.T) {
	for name, c := range map[string]struct{ log, want string }{
		"nothing": {"", ""},
		"plain": {"starting\nERROR: relation \"cart\" does not exist\nbye",
			`ERROR: relation "cart" does not exist`},
		"go panic": {"listening\npanic: runtime error: index out of range [3] with length 3\n\n" +
			"goroutine 1 [running]:\nmain.main()\n\t/src/main.go:12 +0x1d\nexit status 2",
			"panic: runtime error: index out of range [3] with length 3"},
		"python": {"Traceback (most recent call last):\n  File \"/app/main.py\", line 3, in <module>\n" +
			"    connect()\nValueError: DATABASE_URL is empty", "ValueError: DATABASE_URL is empty"},
		"java": {"Exception in thread \"main\" java.lang.IllegalStateException: cannot start\n" +
			"\tat com.shop.Main.main(Main.java:7)\n" +
			"Caused by: java.net.ConnectException: Connection refused\n\t... 12 more",
			"Caused by: java.net.ConnectException: Connection refused"},
		"node": {"/app/index.js:4\n    throw new Error('no license')\n    ^\n\nError: no license\n" +
			"    at Object.<anonymous> (/app/index.js:4:9)\n    at node:internal/main/run_main:23:47\n\n" +
			"Node.js v22.1.0", "Error: no license"},
		"slog": {`{"level":"INFO","msg":"starting"}` + "\n" +
			`{"level":"ERROR","msg":"cannot open the store","err":"permission denied"}` + "\n" +
			`{"level":"INFO","msg":"0 errors while closing"}`, "cannot open the store: permission denied"},
		"pino": {`{"level":60,"msg":"boot","err":{"message":"port 80 is taken"}}` + "\n" +
			`{"level":30,"msg":"bye"}`, "boot: port 80 is taken"},
		"json without a level": {`{"message":"ready"}`, "ready"},
		"json that is no log": {`{"count":3}` + "\nno such file: /etc/app.toml",
			"no such file: /etc/app.toml"},
		"logfmt": {"level=error msg=\"dial tcp: refused\"\nlevel=info msg=\"no error left\"",
			`level=error msg="dial tcp: refused"`},
		"no error": {"migrating\n3 of 4 done\n-----\n", "3 of 4 done"},
	} {
		lines := strings.Split(c.log, "\n")
		got := Find(lines)
		if got.Text != c.want {
			t.Errorf("%s: %q, want %q", name, got.Text, c.want)
		}
		if got.Text != "" && !strings.HasPrefix(lines[got.Index], "{") &&
			strings.TrimSpace(lines[got.Index]) != got.Text {
			t.Errorf("%s: line %d is not the one that says %q", name, got.Index, got.Text)
		}
	}
	long := Find([]string{"error: " + strings.Repeat("é", 1000)}).Text
	if len(long) > maxBytes+len("…") || !utf8.ValidString(long) || !strings.HasSuffix(long, "…") {
		t.Errorf("%d bytes of a long line: %q", len(long), long)
	}
}
