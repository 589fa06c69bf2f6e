package pipeline

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep objects and arrays may be nested.
const MaxDepth = 64

// MaxEncoded is the largest encoded pipeline in bytes.
const MaxEncoded = 4 << 20

// maxExact is the first whole number that its neighbour may be read as.
const maxExact = 1 << 53

// Encode returns the canonical form: fields in the order of the types, keys of
// objects sorted, no spaces, no HTML escapes. Equal pipelines have equal bytes.
func Encode(p Pipeline) ([]byte, error) {
	p.Format = FormatOf(p)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return nil, fmt.Errorf("encode pipeline: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Digest is the SHA-256 of the canonical form, in hexadecimal.
func Digest(p Pipeline) (string, error) {
	encoded, err := Encode(p)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:]), nil
}

// Decode reads a pipeline strictly: unknown fields, duplicate keys, invalid
// UTF-8, text after the end, nesting beyond MaxDepth and numbers that JSON
// readers would round are refused. An absent format counts as the current one; the
// result says the one that the pipeline needs.
func Decode(data []byte) (Pipeline, error) {
	if err := CheckJSON(data); err != nil {
		return Pipeline{}, fmt.Errorf("decode pipeline: %w", err)
	}
	var p Pipeline
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return Pipeline{}, fmt.Errorf("decode pipeline: %w", explainDecodeErr(err))
	}
	if p.Format < 0 || p.Format > Format {
		return Pipeline{}, fmt.Errorf("decode pipeline: format %d is unknown; this build reads 1 "+
			"to %d", p.Format, Format)
	}
	p.Format = FormatOf(p)
	return p, nil
}

// explainDecodeErr rewords the decoder's errors.
func explainDecodeErr(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("field %s: a JSON %s stands where a %s is expected",
			wrong.Field, wrong.Value, wrong.Type.Kind())
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// JSONError says what is wrong with a JSON document, and where. It never
// repeats a value: that may be a secret.
type JSONError struct {
	// Path is written as steps[0].key; it is empty for the document itself.
	Path    string
	Message string
}

// Error implements error.
func (e *JSONError) Error() string {
	if e.Path == "" {
		return "the document: " + e.Message
	}
	return e.Path + ": " + e.Message
}

// CheckJSON holds one JSON document to the rules of Decode that do not depend
// on fields. Errors are *JSONError.
func CheckJSON(data []byte) error {
	if len(data) > MaxEncoded {
		return &JSONError{"", fmt.Sprintf("%d bytes; %d are the most", len(data), MaxEncoded)}
	}
	c := &jsonChecker{dec: json.NewDecoder(bytes.NewReader(data)), bad: firstInvalidUTF8(data)}
	c.dec.UseNumber()
	if err := c.checkValue(0, ""); err != nil {
		return err
	}
	if _, err := c.dec.Token(); !errors.Is(err, io.EOF) {
		return &JSONError{"", "text follows after the end of the document"}
	}
	return nil
}

// firstInvalidUTF8 is the place of the first byte that is not UTF-8, or beyond the end.
func firstInvalidUTF8(data []byte) int64 {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return int64(i)
		}
		i += size
	}
	return math.MaxInt64
}

// jsonChecker walks a document token by token.
type jsonChecker struct {
	dec *json.Decoder
	// bad is the position of the first byte that is not UTF-8: the decoder would replace it
	// silently.
	bad int64
}

// readToken reads the next token, which stands at the path.
func (c *jsonChecker) readToken(path string) (json.Token, error) {
	token, err := c.dec.Token()
	if err != nil {
		return nil, &JSONError{path, jsonError(err).Error()}
	}
	if c.dec.InputOffset() > c.bad {
		return nil, &JSONError{path, "the text is not valid UTF-8"}
	}
	if text, ok := token.(string); ok && strings.Contains(text, "\x00") {
		return nil, &JSONError{path, "the text holds a NUL character, which nothing can store"}
	}
	return token, nil
}

func (c *jsonChecker) checkValue(depth int, path string) error {
	token, err := c.readToken(path)
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Number:
		return checkNumber(t, path)
	case json.Delim:
		if depth >= MaxDepth {
			return &JSONError{path, fmt.Sprintf("nested deeper than %d levels", MaxDepth)}
		}
		if t == '{' {
			return c.checkObject(depth, path)
		}
		for i := 0; c.dec.More(); i++ {
			if err := c.checkValue(depth+1, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		_, err = c.readToken(path)
	}
	return err
}

func (c *jsonChecker) checkObject(depth int, path string) error {
	seen := map[string]bool{}
	for c.dec.More() {
		token, err := c.readToken(path)
		if err != nil {
			return err
		}
		key, _ := token.(string)
		at := joinPath(path, key)
		if seen[key] {
			return &JSONError{at, "the key stands there twice"}
		}
		seen[key] = true
		if err := c.checkValue(depth+1, at); err != nil {
			return err
		}
	}
	_, err := c.readToken(path)
	return err
}

func checkNumber(n json.Number, path string) error {
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) {
		return &JSONError{path, "the number is out of range"}
	}
	if math.Abs(f) >= maxExact && !strings.ContainsAny(string(n), ".eE") {
		return &JSONError{path, "the number cannot be kept exactly; write it as a string"}
	}
	return nil
}

func jsonError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the document ends in the middle")
	}
	return explainDecodeErr(err)
}
