package junit_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/nullops/nullops/agent/junit"
	"github.com/nullops/nullops/agent/wire"
)

// What the common test runners write is read: numbers, times, and which tests failed why.
func TestCollector_ReadsWhatRunnersWrite(t *testing.T) {
	for name, want := range map[string]wire.TestReport{
		"pytest": {Tests: 6, Failed: 2, Skipped: 2, Seconds: 1.482, Failures: []wire.TestFailure{
			{Suite: "tests.test_cart", Name: "test_price[EUR]", Message: "assert 11.9 == 10\n" +
				"def test_price(currency):\n        cart = Cart(currency)\n" +
				">       assert cart.total() == 10\nE       assert 11.9 == 10\n\n" +
				"tests/test_cart.py:21: AssertionError red"},
			{Suite: "tests.test_login", Name: "test_oidc", Message: "failed on setup with " +
				"\"ConnectionError: http://keycloak:8080\"\nconftest.py:8: ConnectionError"}}},
		"jest-junit": {Tests: 3, Failed: 1, Skipped: 1, Seconds: 2.5, Failures: []wire.TestFailure{
			{Suite: "cart", Name: "cart totals with tax", Message: "Error: expect(received)" +
				".toBe(expected) // Object.is equality\n\nExpected: 10\nReceived: 11.9\n" +
				"    at Object.toBe (/app/cart.test.ts:12:23)"}}},
		"surefire": {Tests: 5, Failed: 2, Skipped: 1, Seconds: 1234.5, Failures: []wire.TestFailure{
			{Suite: "shop.CartTest", Name: "totals", Message: "expected: <10> but was: <11.9>\n" +
				"org.opentest4j.AssertionFailedError: expected: <10> but was: <11.9>\n" +
				"\tat shop.CartTest.totals(CartTest.java:23)"},
			{Suite: "shop.CartTest", Name: "connects", Message: "java.net.ConnectException\n" +
				"\tat shop.CartTest.connects(CartTest.java:40)"}}},
		"go-junit-report": {Tests: 4, Failed: 2, Skipped: 1, Seconds: 0.16,
			Failures: []wire.TestFailure{
				{Suite: "example.com/shop/cart", Name: "TestTotal/EUR",
					Message: "Failed\ncart_test.go:11: 11.9, want 10"},
				{Suite: "example.com/shop/pay", Name: "[build failed]",
					Message: "Build error\npay/pay.go:3:1: syntax error"}}},
		"playwright": {Tests: 3, Failed: 1, Skipped: 1, Seconds: 7.251, Failures: []wire.TestFailure{
			{Suite: "checkout.spec.ts", Name: "checkout › shows the total",
				Message: "checkout.spec.ts:14:7 shows the total\n" +
					"[chromium] › checkout.spec.ts:14:7 › checkout › shows the total\n\n" +
					"    Error: expect(locator).toHaveText(expected)\n\n" +
					"    Expected string: \"10 €\"\n    Received string: \"11.9 €\""}}},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".xml"))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, parseReport(t, data)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Forms that are rare or not quite XML are read all the same.
func TestCollector_ReadsOddForms(t *testing.T) {
	failed := func(name, message string) wire.TestReport {
		return wire.TestReport{Tests: 1, Failed: 1,
			Failures: []wire.TestFailure{{Name: name, Message: message}}}
	}
	one := func(head, name string) string {
		return head + `<testsuite><testcase name="` + name + `"><failure>no</failure>` +
			`</testcase></testsuite>`
	}
	wide := utf16.Encode([]rune("\ufeff" + one(`<?xml version="1.0" encoding="utf-16"?>`, "größer")))
	little := make([]byte, 0, 2*len(wide))
	for _, u := range wide {
		little = append(little, byte(u), byte(u>>8))
	}
	for name, c := range map[string]struct {
		text string
		want wire.TestReport
	}{
		"byte order mark": {one("\ufeff", "größer"), failed("größer", "no")},
		"Latin 1": {one(`<?xml version='1.0' encoding='ISO-8859-1'?>`, "gr\xf6\xdfer"),
			failed("größer", "no")},
		"Windows": {one(`<?xml version="1.0" encoding="windows-1252"?>`, "10 \x80"),
			failed("10 €", "no")},
		"UTF-16": {string(little), failed("größer", "no")},
		"not UTF-16": {one(`<?xml version="1.0" encoding="utf-16"?>`, "größer"),
			failed("größer", "no")},
		"broken UTF-8": {one("", "gr\xf6\xdfer"), failed("gr\ufffder", "no")},
		"colours": {one("", "\x1b[31mred&#27;[0m &#x1b;[1m\x00bold&#8;"),
			failed("red bold", "no")},
		"document type": {one(`<!DOCTYPE testsuite SYSTEM "junit.dtd">`, "a"), failed("a", "no")},
		"no details": {`<testsuite><testcase name="a"><error type="E"/></testcase></testsuite>`,
			failed("a", "E")},
		"nested suites": {`<testsuites><testsuite name="a"><testsuite name="b"><testcase name="c">` +
			`<failure/></testcase></testsuite><testcase name="d"/></testsuite></testsuites>`,
			wire.TestReport{Tests: 2, Failed: 1,
				Failures: []wire.TestFailure{{Suite: "b", Name: "c"}}}},
		"suite that could not begin": {`<testsuite name="a"><error message="no database"/></testsuite>`,
			wire.TestReport{Tests: 1, Failed: 1, Failures: []wire.TestFailure{
				{Suite: "a", Name: "a", Message: "no database"}}}},
		"summary alone": {`<testsuites tests="9" failures="2" errors="1" time="4"/>`,
			wire.TestReport{Tests: 9, Failed: 3, Seconds: 4}},
		"two failures of one test": {`<testsuite><testcase name="a"><failure message="1"/>` +
			`<error message="2"/></testcase></testsuite>`, failed("a", "1")},
		"no test": {`<testsuite name="a" tests="0"/>`, wire.TestReport{}},
	} {
		if d := cmp.Diff(c.want, parseReport(t, []byte(c.text))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// A file that is not a report is refused with a sentence, and what it holds before the place
// where it breaks counts.
func TestCollector_RefusesWhatIsNoReport(t *testing.T) {
	begun := `<testsuite><testcase name="a"><failure>no</failure></testcase><testcase name="b">`
	bomb := `<!DOCTYPE t [<!ENTITY a "xxxxxxxx"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM ` +
		`"file:///etc/passwd">]><testsuite><testcase name="a"><failure>`
	for name, c := range map[string]struct {
		text, want string
		failed     int
	}{
		"nothing":        {"", "it is empty", 0},
		"text":           {"ok", "it is empty", 0},
		"HTML":           {"<html><body/></html>", "its root is <html>", 0},
		"half a file":    {begun, "is not XML: unexpected EOF", 1},
		"half a failure": {begun + "<failure>because", "is not XML: unexpected EOF", 2},
		"entities": {bomb + "&b;</failure></testcase></testsuite>",
			"invalid character entity", 1},
		"external entity": {bomb + "&f;</failure></testcase></testsuite>",
			"invalid character entity", 1},
		"unknown encoding": {`<?xml version="1.0" encoding="EBCDIC-FI"?>` + "\xff<testsuite/>",
			`"EBCDIC-FI" is not known`, 0},
		"depth": {"<testsuite>" + strings.Repeat("<a>", 1<<20),
			"nested deeper than 64 levels", 0},
		"one long tag": {"<testsuite " + strings.Repeat(`a="" `, 1<<19), "a tag is longer", 0},
	} {
		var all junit.Collector
		err := all.Add([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", name, err, c.want)
		}
		if r := all.Report(); r.Failed != c.failed || strings.Contains(fmt.Sprint(r), "xxxxxxxx") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// However much a suite has to say, its report stays small, its texts whole characters, and its
// numbers right.
func TestCollector_KeepsReportsSmall(t *testing.T) {
	for name, message := range map[string]string{"long": strings.Repeat("ä", 10<<10),
		"short": "no"} {
		var b strings.Builder
		b.WriteString(`<testsuite>`)
		for i := range 150 {
			fmt.Fprintf(&b, `<testcase name="%d"><failure message="%s"/></testcase>`, i, message)
		}
		b.WriteString(`</testsuite>`)
		r := parseReport(t, []byte(b.String()))
		if r.Tests != 150 || r.Failed != 150 || !r.Truncated || len(r.Failures) != 100 {
			t.Errorf("%s: %d of %d failed, truncated %v, %d shown", name, r.Failed, r.Tests,
				r.Truncated, len(r.Failures))
		}
		sum := 0
		for _, f := range r.Failures {
			sum += len(f.Message)
			if len(f.Message) > 2<<10 || !utf8.ValidString(f.Message) {
				t.Fatalf("%s: a message of %d bytes", name, len(f.Message))
			}
		}
		if sum > 96<<10 {
			t.Errorf("%s: %d bytes of text", name, sum)
		}
	}
}

// Every text passes the mask before it is cut, so that no half of a secret stays at its end.
func TestCollector_MasksBeforeItCuts(t *testing.T) {
	const secret = "correct-horse-battery"
	c := junit.Collector{Mask: func(text string, _ bool) string {
		return strings.ReplaceAll(text, secret, "[secret]")
	}}
	long := strings.Repeat("x", 2<<10-10)
	err := c.Add([]byte(`<testsuite name="s"><testcase classname="` + secret + `" name="a ` + secret +
		`"><failure message="` + long + secret + `">` + secret + `</failure></testcase></testsuite>`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c.Report())
	if err != nil || strings.Contains(string(text), "correct") {
		t.Errorf("%s, %v", text, err)
	}
	f := c.Report().Failures[0]
	if f.Suite != "[secret]" || f.Name != "a [secret]" || !strings.HasPrefix(f.Message, long+"[secr") {
		t.Errorf("%+v", f)
	}
}

func parseReport(t *testing.T, data []byte) wire.TestReport {
	t.Helper()
	var c junit.Collector
	if err := c.Add(data); err != nil {
		t.Error(err)
	}
	return c.Report()
}

// Whatever a container leaves, reading it ends, and the report is sound.
func FuzzCollector(f *testing.F) {
	files, err := filepath.Glob("testdata/*.xml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c junit.Collector
		_ = c.Add(data)
		r := c.Report()
		if r.Failed < 0 || r.Skipped < 0 || r.Failed+r.Skipped > r.Tests || r.Seconds < 0 ||
			len(r.Failures) > r.Failed || len(r.Failures) < min(r.Failed, 100) && !r.Truncated &&
			len(r.Failures) > 0 {
			t.Fatalf("%+v", r)
		}
		for _, failed := range r.Failures {
			if !utf8.ValidString(failed.Suite + failed.Name + failed.Message) {
				t.Fatalf("%+v", failed)
			}
		}
		if text, err := json.Marshal(r); err != nil || len(text) > 1<<20 {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
	})
}
