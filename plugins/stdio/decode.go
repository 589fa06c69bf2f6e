package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// DecodeResponse reads a plugin's stdout to its end and returns the answer. It
// reads at most MaxResponse+1 bytes, so the caller must kill the plugin when the
// error is ProblemTooLarge: it may still be printing. Every error is a
// *ResponseError. An answer with success=false is an answer, not an error.
func DecodeResponse(r io.Reader) (Response, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxResponse+1))
	// What was read decides first: a torn pipe after too much is too much.
	if len(data) > MaxResponse {
		return Response{}, &ResponseError{Problem: ProblemTooLarge, Offset: MaxResponse}
	}
	if err != nil {
		return Response{}, &ResponseError{Problem: ProblemRead, Offset: int64(len(data)), Cause: err}
	}
	return ParseResponse(data)
}

// ParseResponse is DecodeResponse for bytes already collected.
func ParseResponse(data []byte) (Response, error) {
	if len(data) > MaxResponse {
		return Response{}, &ResponseError{Problem: ProblemTooLarge, Offset: MaxResponse}
	}
	if len(bytes.Trim(data, space)) == 0 {
		return Response{}, &ResponseError{Problem: ProblemNothing, Offset: -1}
	}
	if at := invalidUTF8(data); at >= 0 {
		return Response{}, &ResponseError{Problem: ProblemEncoding, Offset: at}
	}
	// Before encoding/json sees it: its own depth limit is 10,000.
	if at := tooDeep(data); at >= 0 {
		return Response{}, &ResponseError{Problem: ProblemTooDeep, Offset: at}
	}
	if err := oneObject(data); err != nil {
		return Response{}, err
	}
	if at := loneSurrogate(data); at >= 0 {
		return Response{}, &ResponseError{Problem: ProblemEncoding, Offset: at}
	}
	if err := checkTokens(data); err != nil {
		return Response{}, err
	}
	return decodeFields(data)
}

// space is what JSON calls insignificant whitespace, and nothing else.
const space = " \t\r\n"

// oneObject makes sure of the outer form: one valid object and no more.
func oneObject(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	var first json.RawMessage
	if err := dec.Decode(&first); err != nil {
		return syntaxError(err, int64(len(data)))
	}
	end := dec.InputOffset()
	rest := bytes.TrimLeft(data[end:], space)
	if len(rest) > 0 {
		at := int64(len(data) - len(rest))
		// JSON again means that the plugin printed its response twice; anything else is a
		// log line on stdout. The remedies differ.
		if json.NewDecoder(bytes.NewReader(rest)).Decode(&json.RawMessage{}) == nil {
			return &ResponseError{Problem: ProblemTwoDocuments, Offset: at}
		}
		return &ResponseError{Problem: ProblemTrailing, Offset: at}
	}
	if first[0] != '{' {
		return &ResponseError{Problem: ProblemNotObject, Offset: 0, Detail: kindOf(first)}
	}
	return nil
}

func syntaxError(err error, size int64) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &ResponseError{Problem: ProblemTruncated, Offset: size}
	case errors.As(err, &syntax):
		return &ResponseError{
			Problem: ProblemSyntax, Offset: max(syntax.Offset-1, 0), Detail: describeSyntax(syntax),
		}
	default:
		return &ResponseError{Problem: ProblemSyntax, Offset: 0, Detail: err.Error()}
	}
}

// describeSyntax says where JSON breaks in words for people who do not know our decoder.
func describeSyntax(err *json.SyntaxError) string {
	_, rest, found := strings.Cut(err.Error(), "invalid character ")
	if !found {
		return "the text breaks off"
	}
	character, _, _ := strings.Cut(rest, "' ")
	return "the character " + character + "' does not belong there"
}

// kindOf names a JSON value by its first byte.
func kindOf(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// decodeFields takes the four members by their exact names. encoding/json would
// also accept "Success", which a duplicate-key check on exact names misses.
func decodeFields(data []byte) (Response, error) {
	var (
		members map[string]json.RawMessage
		resp    Response
	)
	if err := json.Unmarshal(data, &members); err != nil {
		return Response{}, syntaxError(err, int64(len(data)))
	}
	if _, given := members["success"]; !given {
		return Response{}, &ResponseError{Problem: ProblemNoSuccess, Offset: -1}
	}
	targets := map[string]target{
		"success":  {&resp.Success, "a boolean", "tf"},
		"output":   {&resp.Output, "a string", `"`},
		"outputs":  {&resp.Outputs, "an object", "{n"},
		"metadata": {&resp.Metadata, "a list of objects with name and value", "[n"},
	}
	for name, raw := range members {
		t, known := targets[name]
		if !known {
			return Response{}, &ResponseError{Problem: ProblemUnknownField, Offset: -1, Field: name}
		}
		if bytes.IndexByte([]byte(t.starts), raw[0]) < 0 || json.Unmarshal(raw, t.into) != nil {
			return Response{}, &ResponseError{
				Problem: ProblemType, Offset: -1, Field: name, Detail: t.want,
			}
		}
	}
	return resp, nil
}

// target is where a member goes, what it must be, and how such JSON begins.
type target struct {
	into   any
	want   string
	starts string
}

// invalidUTF8 returns the place of the first bad byte, or -1.
func invalidUTF8(data []byte) int64 {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return int64(i)
		}
		i += size
	}
	return -1
}
