package pipeline_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

func TestEncode_IsCanonical(t *testing.T) {
	encoded, err := pipeline.Encode(readShop(t))
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "shop.canonical.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encoded, bytes.TrimSpace(golden)) {
		t.Errorf("the canonical form changed; stored versions would lose their digest:\n%s", encoded)
	}
	again, err := pipeline.Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	second, err := pipeline.Encode(again)
	if err != nil || !bytes.Equal(encoded, second) {
		t.Errorf("a round trip changed the bytes: %v", err)
	}
}

func TestDecode_Refuses(t *testing.T) {
	deep := `{"steps":[{"key":"a","plugin":{"name":"x","parameters":{"p":` +
		strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}}}]}`
	parameter := func(json string) string {
		return `{"steps":[{"key":"a","plugin":{"name":"x","parameters":{"p":` + json + `}}}]}`
	}
	for in, want := range map[string]string{
		``:                                 "ends in the middle",
		`{`:                                "ends in the middle",
		`[]`:                               "array",
		`{"steps":[],"owner":1}`:           `unknown field "owner"`,
		`{"steps":[],"steps":[]}`:          "steps: the key stands there twice",
		`{"steps":[]} {}`:                  "text follows",
		`{"steps":[{"key":1}]}`:            "steps.key",
		"{\"steps\":[{\"key\":\"\xff\"}]}": "steps[0].key: the text is not valid UTF-8",
		parameter(`"a\u0000"`):             "steps[0].plugin.parameters.p: the text holds a NUL",
		`{"format":5,"steps":[]}`:          "format 5 is unknown",
		`{"format":-1,"steps":[]}`:         "format -1 is unknown",
		deep:                               "deeper than 64",
		parameter(`12345678901234567890`):  "write it as a string",
		parameter(`1e999`):                 "out of range",
		parameter(`{"a":1,"a":2}`):         "steps[0].plugin.parameters.p.a: the key",
		parameter(`NaN`):                   "invalid character",
	} {
		if _, err := pipeline.Decode([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode(%.60q): %v, want %q", in, err, want)
		}
	}
	if _, err := pipeline.Decode([]byte(strings.Repeat(" ", pipeline.MaxEncoded+1))); err == nil {
		t.Error("an oversized document was accepted")
	}
}

// Order comes from edges alone: no step and no plugin can ask for another.
func TestDecode_KnowsNoRequirements(t *testing.T) {
	for _, in := range []string{`{"steps":[{"key":"a","requires":["b"]}]}`,
		`{"steps":[{"key":"a","plugin":{"name":"x","requires":["b"]}}]}`,
		`{"steps":[{"key":"a","plugin":{"name":"x","component":{"requires":["b"]}}}]}`} {
		_, err := pipeline.Decode([]byte(in))
		// promise: N-056
		if err == nil || !strings.Contains(err.Error(), `unknown field "requires"`) {
			t.Errorf("Decode(%s): %v", in, err)
		}
	}
}

func TestDigest_DependsOnContentOnly(t *testing.T) {
	a, err := pipeline.Digest(readShop(t))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := pipeline.Digest(readShop(t))
	changed := readShop(t)
	changed.Steps[0].Service.Env["A"] = "b"
	c, _ := pipeline.Digest(changed)
	if a != b || a == c || len(a) != 64 {
		t.Errorf("digests %s %s %s", a, b, c)
	}
}

func FuzzDecode(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "shop.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"steps":[{"key":"a","needs":["a"]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := pipeline.Decode(data)
		if err != nil {
			return
		}
		pipeline.Validate(p, pipeline.Settings{})
		encoded, err := pipeline.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := pipeline.Decode(encoded)
		if err != nil {
			t.Fatalf("%s does not read back: %v", encoded, err)
		}
		if second, _ := pipeline.Encode(again); !bytes.Equal(encoded, second) {
			t.Fatalf("%s became %s", encoded, second)
		}
	})
}
