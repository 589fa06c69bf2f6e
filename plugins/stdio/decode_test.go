package stdio_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/nullops/nullops/plugins/stdio"
)

// Every unacceptable answer has its own kind and its own sentence.
func TestDecodeResponse_RefusesWithOneClearSentence(t *testing.T) {
	// promise: N-065
	deep := func(n int) string {
		return `{"success":true,"outputs":{"a":` + strings.Repeat("[", n) +
			strings.Repeat("]", n) + `}}`
	}
	cases := []struct {
		name, stdout string
		problem      stdio.Problem
		sentence     string
	}{
		{"nothing", "", stdio.ProblemNothing, "printed nothing"},
		{"only spaces", " \n\t\r\n", stdio.ProblemNothing, "printed nothing"},
		{"two documents", "{\"success\":true}\n{\"success\":true}", stdio.ProblemTwoDocuments,
			"a second JSON document at byte 17"},
		{"object and number", `{"success":true} 1`, stdio.ProblemTwoDocuments, "at byte 17"},
		{"log line behind", "{\"success\":true}\nall done", stdio.ProblemTrailing, "at byte 17"},
		{"log line before", "starting\n{\"success\":true}", stdio.ProblemSyntax,
			"at byte 0: the character 's' does not belong there"},
		{"torn", `{"success": true, "outputs": {`, stdio.ProblemTruncated, "after byte 30"},
		{"torn string", `{"success": true, "output": "ab`, stdio.ProblemTruncated,
			"ends in the middle"},
		{"single quotes", `{'success':true}`, stdio.ProblemSyntax, "at byte 1"},
		{"trailing comma", `{"success":true,}`, stdio.ProblemSyntax, "at byte 16"},
		{"NaN", `{"success":true,"outputs":{"a":NaN}}`, stdio.ProblemSyntax, "not valid JSON"},
		{"raw NUL byte", "{\"success\":true,\"output\":\"a\x00b\"}", stdio.ProblemSyntax,
			"not valid JSON"},
		{"list", `[{"success":true}]`, stdio.ProblemNotObject, "holds a list"},
		{"string", `"ok"`, stdio.ProblemNotObject, "holds a string"},
		{"number", ` 7 `, stdio.ProblemNotObject, "holds a number"},
		{"null", `null`, stdio.ProblemNotObject, "holds null"},
		{"boolean", `true`, stdio.ProblemNotObject, "holds a boolean"},
		{"not UTF-8", "{\"success\":true,\"output\":\"\xff\"}", stdio.ProblemEncoding, "at byte 26"},
		{"BOM", "\uFEFF{\"success\":true}", stdio.ProblemSyntax, "at byte 0"},
		{"half a surrogate", `{"success":true,"output":"\ud800"}`, stdio.ProblemEncoding, "at byte 26"},
		{"second half alone", `{"success":true,"output":"\udc00"}`, stdio.ProblemEncoding, "at byte 26"},
		{"two first halves", `{"success":true,"output":"\ud800\ud800"}`, stdio.ProblemEncoding, "26"},
		{"too deep", deep(stdio.MaxDepth - 1), stdio.ProblemTooDeep, "deeper than 64"},
		{"far too deep", deep(200_000), stdio.ProblemTooDeep, "deeper than 64"},
		{"success twice", `{"success":true,"success":false}`, stdio.ProblemDuplicateKey,
			`"success" twice`},
		{"output twice, escaped", `{"success":true,"outputs":{"a":1,"\u0061":2}}`,
			stdio.ProblemDuplicateKey, `"outputs.a" twice`},
		{"twice in a list", `{"success":true,"outputs":{"a":[{"b":1,"b":1}]}}`,
			stdio.ProblemDuplicateKey, `"outputs.a[0].b"`},
		{"NUL in a name", `{"success":true,"outputs":{"a\u0000":1}}`, stdio.ProblemNul, `"outputs"`},
		{"NUL in a value", `{"success":true,"outputs":{"a":"\u0000"}}`, stdio.ProblemNul, `"outputs.a"`},
		{"huge number", `{"success":true,"outputs":{"n":1e999}}`, stdio.ProblemNumber, `"outputs.n"`},
		{"inexact integer", `{"success":true,"outputs":{"n":9007199254740993}}`,
			stdio.ProblemNumber, "send it as a string"},
		{"no success", `{"outputs":{}}`, stdio.ProblemNoSuccess, `lacks the field "success"`},
		{"other case", `{"Success":true}`, stdio.ProblemNoSuccess, `lacks the field "success"`},
		{"unknown field", `{"success":true,"result":1}`, stdio.ProblemUnknownField, `"result"`},
		{"second spelling", `{"success":true,"Success":false}`, stdio.ProblemUnknownField, `"Success"`},
		{"success as text", `{"success":"true"}`, stdio.ProblemType, `"success" of the answer must be a`},
		{"success null", `{"success":null}`, stdio.ProblemType, "boolean"},
		{"output as number", `{"success":true,"output":1}`, stdio.ProblemType, "a string"},
		{"outputs as list", `{"success":true,"outputs":[]}`, stdio.ProblemType, "an object"},
		{"metadata as object", `{"success":true,"metadata":{}}`, stdio.ProblemType, "a list"},
		{"metadata of text", `{"success":true,"metadata":["a"]}`, stdio.ProblemType, "a list"},
		{"metadata value", `{"success":true,"metadata":[{"name":"a","value":{}}]}`,
			stdio.ProblemType, "a list"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := stdio.DecodeResponse(strings.NewReader(c.stdout))
			var refused *stdio.ResponseError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a ResponseError", err)
			}
			if refused.Problem != c.problem {
				t.Errorf("problem %q, want %q (%v)", refused.Problem, c.problem, err)
			}
			if !strings.Contains(err.Error(), c.sentence) {
				t.Errorf("%q does not say %q", err, c.sentence)
			}
		})
	}
}

func TestDecodeResponse_Accepts(t *testing.T) {
	cases := []struct {
		name, stdout string
		want         stdio.Response
	}{
		{"the least", `{"success":true}`, stdio.Response{Success: true}},
		{"a refusal", " {\"success\":false,\"output\":\"no\"}\n",
			stdio.Response{Output: "no"}},
		{"nulls", `{"success":true,"outputs":null,"metadata":null}`, stdio.Response{Success: true}},
		{"every kind", `{"success":true,"outputs":
				{"s":"ä😀","n":5432,"f":0.5,"b":false,"z":null,"l":[1],"":1}}`,
			stdio.Response{Success: true, Outputs: map[string]any{
				"s": "ä😀", "n": 5432.0, "f": 0.5, "b": false, "z": nil, "l": []any{1.0}, "": 1.0,
			}}},
		{"a surrogate pair", `{"success":true,"output":"\ud83d\ude00 \\ud800"}`,
			stdio.Response{Success: true, Output: `😀 \ud800`}},
		{"the largest integer", `{"success":true,"outputs":{"n":-9007199254740991}}`,
			stdio.Response{Success: true, Outputs: map[string]any{"n": -9007199254740991.0}}},
		{"metadata of scalars", `{"success":true,"metadata":
				[{"name":"a","value":1.5},{"name":"b","value":true},{"name":"c"}]}`,
			stdio.Response{Success: true, Metadata: []stdio.Metadatum{
				{Name: "a", Value: "1.5"}, {Name: "b", Value: "true"}, {Name: "c"},
			}}},
		{"brackets in text", `{"success":true,"output":"` + strings.Repeat("[", 100) + `\""}`,
			stdio.Response{Success: true, Output: strings.Repeat("[", 100) + `"`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := stdio.DecodeResponse(strings.NewReader(c.stdout))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

// The limit counts bytes, spaces too, and nothing beyond it is read.
func TestDecodeResponse_StopsReadingAtTheLimit(t *testing.T) {
	answer := `{"success":true}`
	full := answer + strings.Repeat(" ", stdio.MaxResponse-len(answer))
	if _, err := stdio.DecodeResponse(strings.NewReader(full)); err != nil {
		t.Fatalf("exactly the limit: %v", err)
	}
	endless := &endlessReader{}
	_, err := stdio.DecodeResponse(endless)
	var refused *stdio.ResponseError
	if !errors.As(err, &refused) || refused.Problem != stdio.ProblemTooLarge {
		t.Fatalf("got %v, want too large", err)
	}
	if endless.read > 2*stdio.MaxResponse {
		t.Errorf("read %d bytes of an endless stdout", endless.read)
	}
}

type endlessReader struct{ read int }

func (r *endlessReader) Read(p []byte) (int, error) {
	r.read += len(p)
	return len(p), nil
}

func TestDecodeResponse_KeepsTheCauseOfAReadError(t *testing.T) {
	cause := errors.New("torn pipe")
	_, err := stdio.DecodeResponse(iotest.ErrReader(cause))
	if !errors.Is(err, cause) {
		t.Errorf("got %v, which hides the cause", err)
	}
}

// What looks like a reference is text like any other: it arrives as it was
// printed, and nobody looks into it again.
func TestDecodeResponse_LeavesReferencesAlone(t *testing.T) {
	data, err := os.ReadFile("testdata/answers/references.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := stdio.ParseResponse(data)
	if err != nil || got.Outputs["url"] != "${{ secrets.DB_ADMIN_PASSWORD }}" ||
		got.Output != "${{ deployment.name }}" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// No error quotes a value of the answer: it may be a secret.
func TestDecodeResponse_ErrorsQuoteNoValue(t *testing.T) {
	for _, stdout := range []string{
		`{"success":true,"outputs":{"password":"hunter22","password":"hunter22"}}`,
		`{"success":"hunter22"}`, `{"success":true} hunter22`, `"hunter22"`,
		`{"success":true,"outputs":{"a":"hunter22\u0000"}}`, `{"success":true,"output":["hunter22"]}`,
	} {
		_, err := stdio.DecodeResponse(strings.NewReader(stdout))
		if err == nil || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: error %v", stdout, err)
		}
	}
}

// Whatever is accepted can be written and read again, unchanged.
func FuzzDecodeResponse(f *testing.F) {
	samples, err := filepath.Glob("testdata/answers/*")
	if err != nil || len(samples) == 0 {
		f.Fatalf("no samples: %v", err)
	}
	for _, name := range samples {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := stdio.ParseResponse(data)
		if err != nil {
			var refused *stdio.ResponseError
			if !errors.As(err, &refused) || err.Error() == "" {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		var out strings.Builder
		if err := stdio.WriteResponse(&out, first); err != nil {
			t.Fatal(err)
		}
		second, err := stdio.DecodeResponse(strings.NewReader(out.String()))
		if len(out.String()) > stdio.MaxResponse {
			return // escaping made it larger; refusing that is right
		}
		if err != nil || !sameResponse(first, second) {
			t.Fatalf("%q became %+v, then %+v, %v", data, first, second, err)
		}
	})
}

// sameResponse treats an empty map or list and none as equal, as JSON's omission does.
func sameResponse(a, b stdio.Response) bool {
	if len(a.Outputs) == 0 && len(b.Outputs) == 0 {
		a.Outputs, b.Outputs = nil, nil
	}
	if len(a.Metadata) == 0 && len(b.Metadata) == 0 {
		a.Metadata, b.Metadata = nil, nil
	}
	return reflect.DeepEqual(a, b)
}
