package stdio

import "fmt"

// Problem is the kind of fault in what a plugin printed.
type Problem string

// Every kind has its own sentence, see [ResponseError.Error]. The texts are
// stable: they are stored with failed steps and people search for them.
const (
	ProblemNothing      Problem = "nothing"
	ProblemTooLarge     Problem = "too_large"
	ProblemEncoding     Problem = "encoding"
	ProblemSyntax       Problem = "syntax"
	ProblemTruncated    Problem = "truncated"
	ProblemNotObject    Problem = "not_object"
	ProblemTwoDocuments Problem = "two_documents"
	ProblemTrailing     Problem = "trailing"
	ProblemTooDeep      Problem = "too_deep"
	ProblemDuplicateKey Problem = "duplicate_key"
	ProblemNul          Problem = "nul"
	ProblemNumber       Problem = "number"
	ProblemUnknownField Problem = "unknown_field"
	ProblemType         Problem = "type"
	ProblemNoSuccess    Problem = "no_success"
	ProblemRead         Problem = "read"
)

// ResponseError says what is wrong with a plugin's stdout. It never quotes a
// value of the answer, only names and places, since values may be secret.
type ResponseError struct {
	Problem Problem
	// Offset is where, in bytes from the start of stdout; -1 when it has no
	// one place.
	Offset int64
	// Field is the path of the member concerned, such as "outputs.url"; empty
	// when the fault is in none.
	Field string
	// Detail finishes the sentence where the kind alone is not enough.
	Detail string
	// Cause is set for ProblemRead.
	Cause error
}

// Unwrap returns the read error, if that was the fault.
func (e *ResponseError) Unwrap() error { return e.Cause }

// Error is one sentence for the author of the plugin.
func (e *ResponseError) Error() string {
	switch e.Problem {
	case ProblemNothing:
		return "the plugin printed nothing on stdout; it must print one JSON object"
	case ProblemTooLarge:
		return fmt.Sprintf("the plugin printed more than %d bytes on stdout; "+
			"logs belong on stderr", MaxResponse)
	case ProblemEncoding:
		return fmt.Sprintf("stdout is not valid UTF-8 at byte %d", e.Offset)
	case ProblemSyntax:
		return fmt.Sprintf("stdout is not valid JSON at byte %d: %s", e.Offset, e.Detail)
	case ProblemTruncated:
		return fmt.Sprintf("stdout ends in the middle of the JSON object, after byte %d", e.Offset)
	case ProblemNotObject:
		return fmt.Sprintf("stdout holds %s; it must be one JSON object", e.Detail)
	case ProblemTwoDocuments:
		return fmt.Sprintf("stdout holds a second JSON document at byte %d; "+
			"print exactly one", e.Offset)
	case ProblemTrailing:
		return fmt.Sprintf("stdout goes on after the JSON object, at byte %d; "+
			"logs belong on stderr", e.Offset)
	default:
		return e.contentError()
	}
}

// contentError is the second half of Error: well-formed, but not acceptable.
func (e *ResponseError) contentError() string {
	switch e.Problem {
	case ProblemTooDeep:
		return fmt.Sprintf("the answer nests deeper than %d levels, at byte %d",
			MaxDepth, e.Offset)
	case ProblemDuplicateKey:
		return fmt.Sprintf("the answer has the name %q twice", e.Field)
	case ProblemNul:
		return fmt.Sprintf("the answer has a NUL character in or under %q", e.Field)
	case ProblemNumber:
		return fmt.Sprintf("the number at %q is out of range; send it as a string", e.Field)
	case ProblemUnknownField:
		return fmt.Sprintf("the answer has an unknown field %q; "+
			"use success, output, outputs and metadata", e.Field)
	case ProblemType:
		return fmt.Sprintf("the field %q of the answer must be %s", e.Field, e.Detail)
	case ProblemNoSuccess:
		return "the answer lacks the field \"success\" (true or false)"
	case ProblemRead:
		return fmt.Sprintf("reading the plugin's stdout: %v", e.Cause)
	default:
		return "the plugin's answer is not acceptable: " + string(e.Problem)
	}
}
