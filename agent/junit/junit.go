package junit

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nullops/nullops/agent/wire"
)

const (
	// maxFailures, maxMessage, maxName and maxText bound a report: it travels as one message
	// and is a row of the database. Sizes are in bytes; maxText is that of all texts together.
	maxFailures = 100
	maxMessage  = 2 << 10
	maxName     = 256
	maxText     = 96 << 10
	// maxRaw is how much of a text is looked at. It is more than is kept, so that a secret
	// is hidden before the text is cut.
	maxRaw = 16 << 10
	// maxDepth is how deep elements may be nested; real reports have five levels.
	maxDepth = 64
	// maxTag is how long one tag may be, in bytes.
	maxTag = 1 << 20
)

// Collector adds up the results of all files of one job. The zero Collector is ready to use.
type Collector struct {
	// Mask hides secrets in a text; cut says that the text was cut off there. It may be nil.
	Mask func(text string, cut bool) string

	report wire.TestReport
	text   int
}

// Report returns what was collected so far.
func (c *Collector) Report() wire.TestReport { return c.report }

// Add reads one file. If it is broken, what stands before that place is kept: a runner that
// was killed leaves half a file, and its failures are the reason to look.
func (c *Collector) Add(data []byte) error {
	text, err := decodeText(data)
	if err != nil {
		return err
	}
	in := &tagReader{text: text}
	d := xml.NewDecoder(in)
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	f := file{collector: c}
	err = f.read(d)
	f.finish()
	if err != nil {
		return describeError(err)
	}
	return nil
}

// describeError words an error for people.
func describeError(err error) error {
	if broken, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return fmt.Errorf("line %d is not XML: %s", broken.Line, copyPrefix(broken.Msg, 100))
	}
	return err
}

// file is one document while it is read.
type file struct {
	collector *Collector
	// path are the open elements; suites are the names of the open test suites.
	path   []string
	suites []string
	// test is the open test case, failing its open failure; nil without one.
	test    *testCase
	failing *failure
	// cases counts test cases; caseTime sums up their times, and suiteTime those of the suites
	// right below the root.
	cases               int
	caseTime, suiteTime float64
	// root is what the root element says about all suites.
	root *totals
}

type totals struct {
	tests, failed int
	seconds       float64
}

type testCase struct {
	suite, name string
	depth       int
	skipped     bool
	failed      *failure
}

type failure struct {
	depth   int
	message string
	text    strings.Builder
}

func (f *file) read(d *xml.Decoder) error {
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if f.root == nil {
				return errors.New("it is empty")
			}
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if err := f.open(t); err != nil {
				return err
			}
		case xml.EndElement:
			f.close()
		case xml.CharData:
			if f.failing != nil && f.failing.text.Len() < maxRaw {
				f.failing.text.Write(t[:min(len(t), maxRaw)])
			}
		default:
			// Comments, and document types, whose entities are never resolved.
		}
	}
}

func (f *file) open(e xml.StartElement) error {
	name := e.Name.Local
	if len(f.path) == 0 && name != "testsuites" && name != "testsuite" {
		return fmt.Errorf("its root is <%s>, not <testsuites> or <testsuite>", copyPrefix(name, 40))
	}
	if len(f.path) == maxDepth {
		return fmt.Errorf("its elements are nested deeper than %d levels", maxDepth)
	}
	if f.root == nil {
		f.root = &totals{seconds: parseSeconds(findAttribute(e, "time")), tests: parseCount(e, "tests"),
			failed: parseCount(e, "failures") + parseCount(e, "errors")}
	}
	f.path = append(f.path, name)
	switch name {
	case "testsuite":
		f.suites = append(f.suites, copyPrefix(findAttribute(e, "name"), maxRaw))
		if len(f.path) == 2 {
			f.suiteTime += max(0, parseSeconds(findAttribute(e, "time")))
		}
	case "testcase":
		if f.test == nil {
			f.openTest(e)
		}
	case "skipped", "disabled":
		if f.test != nil {
			f.test.skipped = true
		}
	case "failure", "error":
		f.openFailure(e)
	default:
		// system-out, properties, and what surefire calls flakyFailure: it passed in the end.
	}
	return nil
}

func (f *file) openTest(e xml.StartElement) {
	t := &testCase{depth: len(f.path), name: copyPrefix(findAttribute(e, "name"), maxRaw),
		suite: copyPrefix(findAttribute(e, "classname"), maxRaw)}
	// jest-junit writes the name in both places unless it is configured otherwise.
	if (t.suite == "" || t.suite == t.name) && len(f.suites) > 0 {
		t.suite = f.suites[len(f.suites)-1]
	}
	f.cases++
	f.caseTime += max(0, parseSeconds(findAttribute(e, "time")))
	f.test = t
}

// openFailure begins the failure of a test case. One that stands beside the test cases, such as
// a suite that could not be set up, counts as a test of the suite's name.
func (f *file) openFailure(e xml.StartElement) {
	if f.failing != nil {
		return
	}
	if len(f.path) < 2 {
		return
	}
	parent := f.path[len(f.path)-2]
	lone := f.test == nil && (parent == "testsuite" || parent == "testsuites")
	if !lone && parent != "testcase" {
		return
	}
	f.failing = &failure{depth: len(f.path),
		message: strings.TrimSpace(copyPrefix(findAttribute(e, "message"), maxRaw))}
	if f.failing.message == "" {
		f.failing.message = copyPrefix(findAttribute(e, "type"), maxRaw)
	}
}

func (f *file) close() {
	depth := len(f.path)
	name := f.path[depth-1]
	f.path = f.path[:depth-1]
	switch {
	case f.failing != nil && f.failing.depth == depth:
		f.closeFailure()
	case f.test != nil && f.test.depth == depth:
		f.closeTest()
	case name == "testsuite":
		f.suites = f.suites[:len(f.suites)-1]
	}
}

func (f *file) closeFailure() {
	failed := f.failing
	f.failing = nil
	if f.test != nil {
		if f.test.failed == nil {
			f.test.failed = failed
		}
		return
	}
	f.cases++
	suite := ""
	if len(f.suites) > 0 {
		suite = f.suites[len(f.suites)-1]
	}
	f.addTest(testCase{suite: suite, name: suite, failed: failed})
}

func (f *file) closeTest() {
	t := *f.test
	f.test = nil
	f.addTest(t)
}

func (f *file) addTest(t testCase) {
	r := &f.collector.report
	r.Tests++
	switch {
	case t.failed != nil:
		r.Failed++
		f.collector.addFailure(t)
	case t.skipped:
		r.Skipped++
	}
}

// finish counts a failure that the end of a broken file cut off, and takes the numbers of a
// summary that has no test cases.
func (f *file) finish() {
	if f.failing != nil {
		f.closeFailure()
	}
	if f.test != nil && f.test.failed != nil {
		f.closeTest()
	}
	r := &f.collector.report
	if f.root != nil && f.cases == 0 {
		r.Tests += max(f.root.tests, f.root.failed)
		r.Failed += f.root.failed
	}
	switch {
	case f.root != nil && f.root.seconds > 0:
		r.Seconds += f.root.seconds
	case f.suiteTime > 0:
		r.Seconds += f.suiteTime
	default:
		r.Seconds += f.caseTime
	}
}

// addFailure keeps a failure, as long as there is room.
func (c *Collector) addFailure(t testCase) {
	if len(c.report.Failures) == maxFailures {
		c.report.Truncated = true
		return
	}
	kept := wire.TestFailure{Suite: c.keepText(t.suite, maxName), Name: c.keepText(t.name, maxName)}
	names := len(kept.Suite) + len(kept.Name)
	if c.text+names > maxText {
		c.report.Truncated = true
		return
	}
	kept.Message = c.keepText(joinMessage(t.failed), maxMessage)
	if c.text+names+len(kept.Message) > maxText {
		kept.Message, c.report.Truncated = "", true
	}
	c.text += names + len(kept.Message)
	c.report.Failures = append(c.report.Failures, kept)
}

// keepText hides the secrets of a text, and cuts it.
func (c *Collector) keepText(text string, limit int) string {
	if c.Mask != nil {
		text = c.Mask(text, len(text) >= maxRaw)
	}
	if len(text) > limit {
		return copyPrefix(text, limit-len("…")) + "…"
	}
	return text
}

// joinMessage puts the message before the details, which may be long and often end with
// the same sentence.
func joinMessage(f *failure) string {
	details := strings.TrimSpace(copyPrefix(f.text.String(), maxRaw))
	if f.message == "" || strings.HasPrefix(details, f.message) {
		return details
	}
	if details == "" {
		return f.message
	}
	return copyPrefix(f.message+"\n"+details, maxRaw)
}

func findAttribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// maxCount is more tests than anybody has, and few enough to add up.
const maxCount = 10_000_000

func parseCount(e xml.StartElement, name string) int {
	n, err := strconv.Atoi(strings.TrimSpace(findAttribute(e, name)))
	if err != nil || n < 0 {
		return 0
	}
	return min(n, maxCount)
}

// parseSeconds reads a duration; surefire writes 1,234.5. It is negative if there is none.
func parseSeconds(text string) float64 {
	if len(text) > 40 {
		return -1
	}
	s, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), ",", ""), 64)
	if err != nil || math.IsNaN(s) || s < 0 || s > 1e9 {
		return -1
	}
	return s
}

// copyPrefix returns at most limit bytes of a text, whole characters, in memory of its own.
func copyPrefix(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit])
}

// tagReader reads a document byte by byte, and refuses a tag of more than maxTag bytes: the
// decoder would hold all of its attributes at once.
type tagReader struct {
	text []byte
	at   int
	// tag is where the open tag begins; zero outside of tags.
	tag int
}

func (r *tagReader) ReadByte() (byte, error) {
	if r.at == len(r.text) {
		return 0, io.EOF
	}
	b := r.text[r.at]
	r.at++
	switch {
	case b == '>':
		r.tag = 0
	case r.tag > 0 && r.at-r.tag > maxTag:
		return 0, fmt.Errorf("a tag is longer than %d bytes", maxTag)
	case r.tag == 0 && r.at > 1 && r.text[r.at-2] == '<' && isNameStart(b):
		r.tag = r.at
	}
	return b, nil
}

func isNameStart(b byte) bool {
	return b >= utf8.RuneSelf || b == '_' || b == ':' || b|0x20 >= 'a' && b|0x20 <= 'z'
}

// Read makes it an io.Reader; the decoder calls ReadByte alone.
func (r *tagReader) Read(p []byte) (int, error) {
	for i := range p {
		b, err := r.ReadByte()
		if err != nil {
			return i, err
		}
		p[i] = b
	}
	return len(p), nil
}
