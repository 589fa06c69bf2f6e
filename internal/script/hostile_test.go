package script_test

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/internal/script"
	"github.com/nullops/nullops/internal/testpart"
)

// Scripts that try to use up the machine are stopped, and say why in one sentence.
//
// promise: N-330
func TestHostile_StopsAtItsLimits(t *testing.T) {
	testpart.Rotate(t)
	const second = time.Second
	const soon = 300 * time.Millisecond
	for name, c := range map[string]struct {
		source string
		kinds  string
		limit  time.Duration
	}{
		"endless loop": {
			"export default () => {\n  for (;;);\n}",
			"timeout",
			soon,
		},
		"endless loop at the top": {"for (;;);", "timeout", soon},
		"endless promises": {
			"const f = async () => { for (;;) await null }; export default f",
			"timeout",
			soon,
		},
		"endless catch": {
			"export default () => { for (;;) try { throw 1 } catch {} }",
			"timeout",
			soon,
		},
		"catastrophic regex": {
			"export default () => /^(?=(a+)+$)/.test('a'.repeat(40) + 'b')",
			"timeout",
			soon,
		},
		"huge array": {
			"export default () => { new Array(4294967295).fill(1) }",
			"memory timeout", second,
		},
		"growing array": {
			"export default () => { const a = []; for (;;) a.push({a: 1}) }",
			"memory",
			30 * second,
		},
		"doubling": {
			"export default () => { let s = 'xxxx'; for (;;) s += s + s.toUpperCase() }",
			"memory thrown",
			20 * second,
		},
		"repeat": {
			"export default () => { 'x'.repeat(2 ** 30).split('') }",
			"memory thrown",
			20 * second,
		},
		"buffer": {
			"export default () => { new ArrayBuffer(2 ** 34) }",
			"memory thrown crashed",
			20 * second,
		},
		"recursion": {"const f = () => f() + 1; export default f", "recursion", 10 * second},
		"getter recursion": {
			"const o = {get a() { return this.a }}; export default () => o.a",
			"recursion",
			10 * second,
		},
		"native recursion": {
			"const a = {toString: () => '' + [a]}; export default () => '' + a",
			"recursion timeout", 2 * second,
		},
		"proxy recursion": {
			"const p = new Proxy({}, {get: (t, k, r) => r[k]}); export default () => p.a",
			"recursion",
			10 * second,
		},
		"deep JSON": {
			"export default () => JSON.parse('['.repeat(5e6))",
			"recursion thrown memory",
			20 * second,
		},
		"deep source": {
			"export default () => " + strings.Repeat("(", 60000),
			"syntax recursion memory",
			0,
		},
		"never settles":           {"export default () => new Promise(() => {})", "thrown", 0},
		"never settling thenable": {"export default () => ({then() {}})", "thrown", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, _ := run(t, script.Request{Source: c.source, Timeout: c.limit})
			if answer.Problem == nil || !strings.Contains(c.kinds, string(answer.Problem.Kind)) {
				t.Fatalf("got %+v, want one of %s", answer, c.kinds)
			}
			text := answer.Problem.Error()
			if strings.ContainsAny(text, "\n\t") || len(text) > 1100 {
				t.Errorf("the problem is no sentence: %q", text)
			}
		})
	}
}

func TestHostile_NamesTheLineOfAnEndlessLoop(t *testing.T) {
	answer, _ := run(t, script.Request{Timeout: time.Second,
		Source: "export default () => {\n  let n = 0;\n  while (true) n++;\n}"})
	if answer.Problem == nil || !strings.HasPrefix(answer.Problem.Error(), "line 3, column ") {
		t.Errorf("got %v", answer.Problem)
	}
}

// Whatever a script does to prototypes and globals, it gets out what it returned and nothing
// else.
//
// promise: N-330
func TestHostile_CannotChangeItsResultByTricks(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"inherited outputs": {
			"Object.prototype.outputs = {evil: 1}; export default () => ({})",
			"",
		},
		"inherited field": {
			"Object.prototype.evil = 1; export default () => ({outputs: {}})",
			"",
		},
		"array prototype": {
			"Array.prototype[1] = 'evil'; Array.prototype.toJSON = () => 'evil';" +
				"export default () => ({outputs: {a: ['x']}})",
			"a: ['x']",
		},
		"toJSON": {
			"Object.prototype.toJSON = () => ({evil: 1}); String.prototype.toJSON = () => " +
				"'evil'; export default () => ({outputs: {a: 'x'}})",
			"a: 'x'",
		},
		"JSON": {"JSON.stringify = () => '{\"evil\":1}'; JSON.parse = () => ({evil: 1});" +
			"export default ({parameters}) => ({outputs: {a: parameters.evil ?? 'x'}})", "a: 'x'"},
		"globals": {
			"for (const k of Object.getOwnPropertyNames(globalThis)) try { globalThis[k] = " +
				"null } catch {}\nexport default () => ({outputs: {a: 'x'}})",
			"a: 'x'",
		},
		"promise": {
			"Promise.prototype.then = () => { throw 1 }; Promise.resolve = () => 'evil';" +
				"export default () => ({outputs: {a: 'x'}})",
			"a: 'x'",
		},
		"getter once": {
			"let n = 0; export default () => ({outputs: {get a() { return n++ ? 'evil' : 'x' }}})",
			"a: 'x'",
		},
		"proto field": {
			`export default () => ({outputs: JSON.parse('{"a": "x", "__proto__": {"evil": 1}}')})`,
			"a: 'x', __proto__",
		},
		"symbols": {
			"export default () => ({outputs: {a: 'x', [Symbol('evil')]: 1}})",
			"a: 'x'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, _ := run(t, script.Request{Source: c.source})
			if answer.Problem != nil {
				t.Fatal(answer.Problem)
			}
			wantA := any(nil)
			switch {
			case strings.Contains(c.want, "['x']"):
				wantA = "[x]"
			case c.want != "":
				wantA = "x"
			}
			got := answer.Outputs["a"]
			if list, ok := got.([]any); ok && len(list) == 1 {
				got = "[" + list[0].(string) + "]"
			}
			_, evil := answer.Outputs["evil"]
			if got != wantA || evil || len(answer.Outputs) != strings.Count(c.want, ",")+
				min(len(c.want), 1) {
				t.Errorf("the outputs are %v, want {%s}", answer.Outputs, c.want)
			}
		})
	}
}

func TestHostile_ProblemsOfItsResult(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"proxy": {
			"export default () => new Proxy({outputs: {}}, {})",
			"returned a proxy",
		},
		"proxy inside": {
			"export default () => ({outputs: {a: new Proxy([], {})}})",
			"outputs.a is a proxy",
		},
		"getter throws": {
			"export default () => ({outputs: {get a() { throw new Error('ha') }}})",
			"ha",
		},
		"array lies": {
			"const a = ['x']; Object.defineProperty(a, 'b', {value: 1, enumerable: true});" +
				"export default () => ({outputs: {a}})",
			"holes",
		},
		"error with getters": {
			"const e = new Error('x'); Object.defineProperty(e, 'message', " + "{get() { " +
				"throw 5 }}); export default () => { throw e }",
			"says nothing",
		},
		"error with a proxy": {
			"export default () => { throw new Proxy(new Error('x'), {get() { for (;;); }}) }",
			"says nothing",
		},
		"long message": {
			"export default () => { throw new Error('x\\n'.repeat(1e6)) }",
			"x x x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, _ := run(t, script.Request{Source: c.source, Timeout: 5 * time.Second})
			if answer.Problem == nil || !strings.Contains(answer.Problem.Error(), c.want) ||
				len(answer.Problem.Message) > 1100 {
				t.Errorf("got %v, want %q", answer.Problem, c.want)
			}
		})
	}
}

func TestHostile_LogIsBounded(t *testing.T) {
	answer, log := run(t, script.Request{Timeout: 20 * time.Second, Source: `
export default ({log}) => {
  log("x".repeat(20 << 20));
  for (let i = 0; i < 2e4; i++) log("line " + i + "y".repeat(100));
  log({toJSON() { throw 1 }}, Symbol("s"), undefined, null, ["a"], () => 1);
  log("two\nlines");
}`})
	total := 0
	for _, line := range log {
		total += len(line)
		if len(line) > script.MaxLine+10 || strings.Contains(line, "\n") {
			t.Fatalf("a line of %d bytes", len(line))
		}
	}
	if answer.Problem != nil || total > script.MaxLog || answer.Dropped < 8_000 {
		t.Errorf("%d bytes of log, %d lines dropped, %v", total, answer.Dropped, answer.Problem)
	}
}

// The interpreter has nothing that leads outside: no modules, no process, no way from a
// function's constructor to ours.
func TestHostile_FindsNothingOutside(t *testing.T) {
	secret := t.TempDir() + "/secret"
	if err := os.WriteFile(secret, []byte("found"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	t.Setenv("NULLOPS_SECRET", "found")
	answer, _ := run(t, script.Request{Source: `
export default (input) => {
  const tried = {};
  const attempt = (name, f) => {
    try { tried[name] = String(f()) } catch (e) { tried[name] = "error" }
  };
  attempt("constructor", () => input.log.constructor.constructor(
    "return typeof process + typeof globalThis.os")());
  attempt("function", () => Function("return this.process")());
  attempt("require", () => require("fs"));
  attempt("fetch", () => fetch("http://` + server.Addr().String() + `"));
  attempt("XMLHttpRequest", () => new XMLHttpRequest());
  attempt("WebSocket", () => new WebSocket("ws://` + server.Addr().String() + `"));
  attempt("setTimeout", () => setTimeout(() => {}, 1));
  attempt("read", () => load("` + secret + `"));
  attempt("caller", () => input.log.caller);
  attempt("go", () => Object.getOwnPropertyNames(input.log).filter(
    n => !["name", "length"].includes(n)));
  attempt("globals", () => Object.getOwnPropertyNames(globalThis).filter(
    n => /go|os|syscall|process|file|net/.test(n)));
  return {outputs: tried};
}`})
	if answer.Problem != nil {
		t.Fatal(answer.Problem)
	}
	for name, want := range map[string]string{
		"constructor": "undefinedundefined", "function": "undefined", "require": "error",
		"fetch": "error", "XMLHttpRequest": "error", "WebSocket": "error", "setTimeout": "error",
		"read": "error", "go": "", "globals": "",
	} {
		if got := answer.Outputs[name]; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
