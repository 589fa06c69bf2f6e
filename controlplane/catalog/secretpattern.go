package catalog

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A pattern spells a generated secret:
//
//	LIC-      letters stand for themselves; \ before one takes its meaning away
//	[A-Z0-9]  one of these, each equally likely
//	{12}      what is before it, twelve times
const (
	maxPattern = 256
	// maxSecretLength is what a length allows too.
	maxSecretLength = 128
	// minSecretBits is twelve hexadecimal digits, the least that a length allows.
	minSecretBits = 48
)

// patternPart is one letter of a set, so many times.
type patternPart struct {
	letters string
	times   int
}

// parsePattern reads a pattern, and refuses one whose secrets could be guessed.
func parsePattern(text string) ([]patternPart, error) {
	if text == "" || len(text) > maxPattern {
		return nil, fmt.Errorf("a pattern has 1 to %d characters", maxPattern)
	}
	var parts []patternPart
	for rest := text; rest != ""; {
		var part patternPart
		var err error
		if part, rest, err = nextPart(rest); err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	length, bits := 0, 0.0
	for _, p := range parts {
		length += p.times
		bits += float64(p.times) * math.Log2(float64(len(p.letters)))
	}
	switch {
	case length > maxSecretLength:
		return nil, fmt.Errorf("it makes %d characters; %d are the most", length, maxSecretLength)
	case bits < minSecretBits:
		return nil, fmt.Errorf("its secrets could be guessed: %.0f bits are random, at least %d "+
			"must be, such as [A-Za-z0-9]{9}", bits, minSecretBits)
	}
	return parts, nil
}

func nextPart(rest string) (part patternPart, tail string, err error) {
	switch rest[0] {
	case '[':
		inside, after, closed := strings.Cut(rest[1:], "]")
		if !closed {
			return part, "", fmt.Errorf("%q has no ]", rest)
		}
		part.letters, err = expandSet(inside)
		rest = after
	case ']', '{', '}':
		err = fmt.Errorf("%q stands alone; write \\%c for the character itself", rest, rest[0])
	default:
		part.letters, rest, err = oneLetter(rest)
	}
	if err != nil {
		return part, "", err
	}
	part.times, tail, err = parseRepeat(rest)
	return part, tail, err
}

// oneLetter reads a character, or the one after a backslash.
func oneLetter(rest string) (letter, tail string, err error) {
	if rest[0] == '\\' {
		rest = rest[1:]
	}
	if rest == "" || rest[0] < 0x21 || rest[0] > 0x7e {
		return "", "", fmt.Errorf("a pattern is of visible ASCII characters, not %q", rest)
	}
	return rest[:1], rest[1:], nil
}

// expandSet spells a set such as A-Z0-9_ out. A letter that is named twice would
// be twice as likely, so it is refused.
func expandSet(inside string) (string, error) {
	var all strings.Builder
	for rest := inside; rest != ""; {
		from, tail, err := oneLetter(rest)
		if err != nil {
			return "", err
		}
		to := from
		if len(tail) > 1 && tail[0] == '-' {
			if to, tail, err = oneLetter(tail[1:]); err != nil {
				return "", err
			}
		}
		if to < from {
			return "", fmt.Errorf("%s-%s runs backwards", from, to)
		}
		for c := from[0]; c <= to[0]; c++ {
			if strings.IndexByte(all.String(), c) >= 0 {
				return "", fmt.Errorf("[%s] names %q twice", inside, c)
			}
			all.WriteByte(c)
		}
		rest = tail
	}
	if all.Len() == 0 {
		return "", fmt.Errorf("a set [] has no characters")
	}
	return all.String(), nil
}

// parseRepeat reads {n}; without one it is once.
func parseRepeat(rest string) (times int, tail string, err error) {
	if !strings.HasPrefix(rest, "{") {
		return 1, rest, nil
	}
	count, tail, closed := strings.Cut(rest[1:], "}")
	times, err = strconv.Atoi(count)
	if !closed || err != nil || times < 1 || times > maxSecretLength {
		return 0, "", fmt.Errorf("%q is no number of times from {1} to {%d}", rest, maxSecretLength)
	}
	return times, tail, nil
}
