package script_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nullops/nullops/internal/script"
)

var runner script.Runner

// run calls a script's default function and returns its response and its log.
func run(t *testing.T, r script.Request) (script.Response, []string) {
	t.Helper()
	if r.Action == "" {
		r.Action = script.ActionCreate
	}
	var log []string
	answer, err := runner.Run(t.Context(), r, func(line string) { log = append(log, line) })
	if err != nil {
		t.Fatal(err)
	}
	return answer, log
}

const transform = `
import type {} from "x"
interface Row { id: number; name?: string; tags: string[] }

class Users {
  #rows: Row[] = [];
  static prefix = "user-";
  add(row: Row) { this.#rows.push(row); return this; }
  *[Symbol.iterator]() { yield* this.#rows; }
}

async function* pages(n: number) { for (let i = 0; i < n; i++) yield i; }

export default async ({parameters, outputs, services, deployment, secrets, run, log}) => {
  const users = new Users();
  for await (const i of pages(parameters.count)) users.add({id: i, tags: ["a", "b"]});
  const all = [...users].map(({tags: [first, ...rest], ...row}) => ({...row, first, rest}));
  let host; host ??= services.db?.host;
  log("found", all.length, {host}, 10n);
  const named = "2026-11-26".match(/(?<year>\d{4})-(?<month>\d\d)/u)?.groups;
  return {outputs: {
    all, host, year: Number(named?.year), text: ` + "`${deployment.name}/${run.step}`" + `,
    last: all.at(-1)?.id ?? null, kept: outputs, missing: undefined,
    url: "postgres://" + secrets.password + "@" + host, big: String(2n ** 64n),
    flat: [[1], [2, [3]]].flat(2), entries: Object.fromEntries(new Map([["a", 1]])),
    all_settled: (await Promise.allSettled([1, Promise.reject(2)])).map(r => r.status),
  }};
};

export function remove({outputs, log}) { log("remove", outputs.all.length); }
`

// promise: N-330
func TestRun_TransformsWithModernJavaScript(t *testing.T) {
	input := script.Input{
		Parameters: map[string]any{"count": 2}, Secrets: map[string]string{"password": "pw"},
		Services:   map[string]script.Service{"db": {Host: "db", Port: 5432}},
		Deployment: script.Deployment{Name: "demo"}, Run: script.Run{Step: "derive"},
	}
	answer, log := run(t, script.Request{Source: transform, Input: input})
	if answer.Problem != nil {
		t.Fatal(answer.Problem)
	}
	row := func(id float64) any {
		return map[string]any{"id": id, "first": "a", "rest": []any{"b"}}
	}
	want := map[string]any{
		"all": []any{row(0), row(1)}, "host": "db", "year": 2026.0, "text": "demo/derive",
		"last": 1.0, "kept": map[string]any{}, "url": "postgres://pw@db",
		"big":  "18446744073709551616",
		"flat": []any{1.0, 2.0, 3.0}, "entries": map[string]any{"a": 1.0},
		"all_settled": []any{"fulfilled", "rejected"},
	}
	if diff := cmp.Diff(want, answer.Outputs); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	if want := []string{`found 2 {"host":"db"} 10`}; !slices.Equal(log, want) {
		t.Errorf("log is %q, want %q", log, want)
	}
	if !answer.Removes {
		t.Error("the export remove was not found")
	}
	answer, log = run(t, script.Request{Action: script.ActionDelete, Source: transform,
		Input: script.Input{Outputs: answer.Outputs}})
	if answer.Problem != nil || !slices.Equal(log, []string{"remove 2"}) {
		t.Errorf("remove answered %v and logged %q", answer.Problem, log)
	}
}

func TestRun_SaysWhatIsWrongAndWhere(t *testing.T) {
	for name, c := range map[string]struct {
		source, want string
		kind         script.Kind
	}{
		"syntax": {"export default () => {\n  let x = ;\n}",
			`line 2, column 11: Unexpected ";"`, script.Syntax},
		"top-level await": {"const x = await f();\nexport default () => {}",
			"line 1, column 11: await stands outside", script.Syntax},
		"no export":    {"const x = 1", "the script exports nothing", script.Contract},
		"default data": {"export default 5", "has no default function", script.Contract},
		"remove is data": {
			"export default () => {}; export const remove = 1",
			"remove is no function",
			script.Contract,
		},
		"import": {
			"import fs from 'fs';\nexport default () => fs",
			"cannot import other modules",
			script.Thrown,
		},
		"thrown": {
			"export default ({parameters}) => {\n  // why\n  throw new Error('no ' + 'room')\n}",
			"line 3, column 9: no room",
			script.Thrown,
		},
		"type error": {"export default ({parameters}) => {\n  return parameters.a.b\n}",
			"line 2, column 23: TypeError: Cannot read", script.Thrown},
		"async": {
			"export default async () => {\n  await null;\n  null.x\n}",
			"line 3, column ",
			script.Thrown,
		},
		"string": {"export default () => { throw 'just text' }", "just text", script.Thrown},
		"null":   {"export default () => { throw null }", "says nothing", script.Thrown},
		"object": {
			"export default () => { throw {toString() { throw 1 }} }",
			"says nothing",
			script.Thrown,
		},
		"clock": {"export default () => {\n  return {outputs: {now: Date.now()}}\n}",
			"line 2, column 31: TypeError: the script has no clock", script.Thrown},
		"date": {
			"export default () => ({outputs: {now: `${new Date()}`}})",
			"has no clock",
			script.Thrown,
		},
		"output": {
			"export default () => ({output: {}})",
			`the unknown field "output"`,
			script.Outputs,
		},
		"text": {"export default () => 'done'", "the script returned a text", script.Outputs},
		"map": {
			"export default () => ({outputs: {a: new Map()}})",
			"outputs.a is a Map, a Set",
			script.Outputs,
		},
		"nan": {
			"export default () => ({outputs: {a: [0/0]}})",
			"outputs.a[0] is NaN",
			script.Outputs,
		},
		"bigint": {
			"export default () => ({outputs: {a: 1n}})",
			"outputs.a is a BigInt",
			script.Outputs,
		},
		"function": {
			"export default () => ({outputs: {a() {}}})",
			"outputs.a is a value of class Function",
			script.Outputs,
		},
		"cycle": {
			"export default () => { const a = {}; a.a = a; return {outputs: a} }",
			"contain themselves",
			script.Outputs,
		},
		"surrogate": {
			"export default () => ({outputs: {a: '\\ud800'}})",
			"no valid Unicode",
			script.Outputs,
		},
		"large": {
			"export default () => ({outputs: {a: 'x'.repeat(300000)}})",
			"larger than 262144 bytes",
			script.Outputs,
		},
		"hole": {
			"export default () => ({outputs: {a: [1,,3]}})",
			"outputs.a has holes",
			script.Outputs,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, _ := run(t, script.Request{Source: c.source})
			if answer.Problem == nil || !strings.Contains(answer.Problem.Error(), c.want) ||
				answer.Problem.Kind != c.kind || answer.Outputs != nil {
				t.Errorf("got %+v, want %s: %q", answer.Problem, c.kind, c.want)
			}
		})
	}
}

func TestRun_GrantsTheClock(t *testing.T) {
	answer, _ := run(t, script.Request{Clock: true,
		Source: "export default () => ({outputs: {now: Date.now(), " +
			"zone: new Date().getTimezoneOffset()}})"})
	now, _ := answer.Outputs["now"].(float64)
	d := time.Since(time.UnixMilli(int64(now)))
	if answer.Problem != nil || d < 0 || d > time.Minute {
		t.Errorf("the script's clock says %v (%v)", answer.Outputs, answer.Problem)
	}
	if answer.Outputs["zone"] != 0.0 {
		t.Errorf("the script's time zone is %v, want UTC", answer.Outputs["zone"])
	}
}

func TestRun_DrawsTheSameNumbersInTheSameRun(t *testing.T) {
	draw := func(run string) any {
		answer, err := runner.Run(t.Context(), script.Request{Action: script.ActionCreate,
			Input:  script.Input{Run: script.Run{ID: run, Step: "a"}},
			Source: "export default () => ({outputs: {n: Math.random()}})"}, nil)
		if err != nil || answer.Problem != nil {
			t.Fatal(err, answer.Problem)
		}
		return answer.Outputs["n"]
	}
	if a, b, c := draw("1"), draw("1"), draw("2"); a != b || a == c {
		t.Errorf("drew %v and %v in one run, %v in another", a, b, c)
	}
}

func TestCheck_LoadsWithoutCalling(t *testing.T) {
	answer, log := run(t, script.Request{Action: script.ActionCheck,
		Source: "export default ({log}) => log('called'); export function remove() { throw 1 }"})
	if answer.Problem != nil || !answer.Removes || len(log) > 0 {
		t.Errorf("the check answered %+v and logged %q", answer, log)
	}
}

// A process that begins late on a busy machine takes nothing of the script's time.
func TestRun_TimeBeginsWithTheScript(t *testing.T) {
	if err := os.WriteFile(slowMark(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(slowMark()) })
	answer, _ := run(t, script.Request{Timeout: time.Second,
		Source: "export default () => ({outputs: {n: 1}})"})
	if answer.Problem != nil || answer.Outputs["n"] != 1.0 {
		t.Errorf("got %+v, %v", answer.Problem, answer.Outputs)
	}
	answer, _ = run(t, script.Request{Timeout: time.Second, Source: "for (;;);"})
	if answer.Problem == nil || answer.Problem.Kind != script.TimedOut {
		t.Errorf("an endless loop answered %+v", answer.Problem)
	}
}

func TestRun_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	_, err := runner.Run(ctx, script.Request{Action: script.ActionCreate, Timeout: time.Minute,
		Source: "export default ({log}) => { log('here'); for (;;); }"}, func(string) { cancel() })
	if !errors.Is(err, context.Canceled) || time.Since(began) > 20*time.Second {
		t.Errorf("a cancelled script ended with %v after %s", err, time.Since(began))
	}
}

func TestRun_RefusesALargeSource(t *testing.T) {
	answer, _ := run(t, script.Request{Source: strings.Repeat(" ", script.MaxSource+1)})
	if answer.Problem == nil || answer.Problem.Kind != script.Syntax {
		t.Errorf("got %+v", answer.Problem)
	}
}
