package stdio

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// tooDeep returns the place where nesting passes MaxDepth, or -1. It only tells strings from the
// rest, so it is right for valid JSON and harmless for other.
func tooDeep(data []byte) int64 {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return int64(i)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

// loneSurrogate returns the place of a \uD800-style escape without its other half, or -1. Go would
// silently replace it, so two different names could become one. The data must be valid JSON.
func loneSurrogate(data []byte) int64 {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if data[i+1] != 'u' {
			i++
			continue
		}
		switch unit := parseEscape(data[i:]); {
		case unit >= 0xD800 && unit < 0xDC00:
			low := parseEscape(data[i+6:])
			if low < 0xDC00 || low > 0xDFFF {
				return int64(i)
			}
			i += 11
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return int64(i)
		default:
			i += 5
		}
	}
	return -1
}

// parseEscape reads the code unit of a leading \uXXXX, or returns -1.
func parseEscape(data []byte) int64 {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseInt(string(data[2:6]), 16, 32)
	if err != nil {
		return -1
	}
	return unit
}

// checkTokens looks at every token of a valid document: duplicate names, NUL
// characters (PostgreSQL's jsonb and every environment refuse them) and numbers
// that another reader would round.
func checkTokens(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	w := walker{dec: dec}
	return w.checkValue("")
}

type walker struct{ dec *json.Decoder }

func (w walker) checkValue(path string) error {
	token, err := w.dec.Token()
	if err != nil {
		return syntaxError(err, w.dec.InputOffset())
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return w.checkObject(path)
		}
		return w.checkList(path)
	case string:
		if strings.ContainsRune(t, 0) {
			return &ResponseError{Problem: ProblemNul, Offset: w.dec.InputOffset(), Field: path}
		}
	case json.Number:
		if !inRange(t) {
			return &ResponseError{Problem: ProblemNumber, Offset: w.dec.InputOffset(), Field: path}
		}
	}
	return nil
}

func (w walker) checkObject(path string) error {
	seen := map[string]bool{}
	for w.dec.More() {
		token, err := w.dec.Token()
		if err != nil {
			return syntaxError(err, w.dec.InputOffset())
		}
		name, _ := token.(string) // the decoder gives nothing else here
		at := &ResponseError{Offset: w.dec.InputOffset(), Field: joinPath(path, name)}
		switch {
		case strings.ContainsRune(name, 0):
			at.Problem, at.Field = ProblemNul, path
			return at
		case seen[name]:
			at.Problem = ProblemDuplicateKey
			return at
		}
		seen[name] = true
		if err := w.checkValue(joinPath(path, name)); err != nil {
			return err
		}
	}
	return w.readClosing()
}

func (w walker) checkList(path string) error {
	for i := 0; w.dec.More(); i++ {
		if err := w.checkValue(path + "[" + strconv.Itoa(i) + "]"); err != nil {
			return err
		}
	}
	return w.readClosing()
}

func (w walker) readClosing() error {
	if _, err := w.dec.Token(); err != nil {
		return syntaxError(err, w.dec.InputOffset())
	}
	return nil
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// inRange says whether a float64 holds the number: finite, and exact if whole.
func inRange(n json.Number) bool {
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return false
	}
	return f != math.Trunc(f) || math.Abs(f) <= MaxInteger
}
