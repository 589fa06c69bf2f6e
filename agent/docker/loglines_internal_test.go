package docker

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/mask"
)

const (
	stampA = "2026-11-21T12:00:00.000000001Z "
	stampB = "2026-11-21T12:00:00.000000002Z "
	stampC = "2026-11-21T12:00:01.000000003Z "
)

func joinFrames(m *mask.Masker, frames ...logFrame) string {
	j := lineJoiner{mask: m}
	var out []byte
	for _, f := range frames {
		out = j.addMessage(out, f)
	}
	return string(j.flushOpen(out))
}

func outFrame(text string) logFrame { return logFrame{stream: streamOut, text: []byte(text)} }
func errFrame(text string) logFrame { return logFrame{stream: streamErr, text: []byte(text)} }

// Pieces become the line they were, whatever comes between them on the other stream, and whether or
// not the driver ends the last piece with a newline.
func TestLineJoiner_MakesWholeLines(t *testing.T) {
	full := strings.Repeat("x", enginePiece)
	for name, c := range map[string]struct {
		frames []logFrame
		want   string
	}{
		"short lines": {[]logFrame{outFrame(stampA + "a\n"), errFrame(stampB + "b\n")},
			stampA + "a\n" + stampB + "b\n"},
		"pieces": {[]logFrame{outFrame(stampA + full), outFrame(stampB + full),
			outFrame(stampC + "end\n")}, stampA + full + full + "end\n"},
		"the other stream between": {[]logFrame{outFrame(stampA + full), errFrame(stampB + "b\n"),
			outFrame(stampA + "end\n")}, stampB + "b\n" + stampA + full + "end\n"},
		"both streams long": {[]logFrame{outFrame(stampA + full), errFrame(stampB + full),
			outFrame(stampA + "a\n"), errFrame(stampB + "b\n")},
			stampA + full + "a\n" + stampB + full + "b\n"},
		"no line end behind the last piece": {[]logFrame{outFrame(stampA + full),
			outFrame(stampA + "end"), outFrame(stampC + "next\n")},
			stampA + full + "end\n" + stampC + "next\n"},
		"an empty last piece": {[]logFrame{outFrame(stampA + full), outFrame(stampA),
			outFrame(stampC + "next\n")}, stampA + full + "\n" + stampC + "next\n"},
		"no end at all": {[]logFrame{outFrame(stampA + full)}, stampA + full + "\n"},
	} {
		if got := joinFrames(nil, c.frames...); got != c.want {
			t.Errorf("%s: %d bytes %.60q…, want %d bytes %.60q…", name, len(got), got,
				len(c.want), c.want)
		}
	}
}

// A secret is hidden wherever a line is cut: across two pieces of the engine and at
// the bound, at the head of a tail, and at an end that has not come.
func TestLineJoiner_HidesSecretsAcrossCuts(t *testing.T) {
	const secret = "correct-horse-battery"
	m := mask.New([]string{secret})
	full := strings.Repeat("x", enginePiece)
	over := longestLine/enginePiece + 1
	for name, c := range map[string]struct {
		frames []logFrame
		shown  string
	}{
		"begins inside": {[]logFrame{outFrame(stampA + "horse-battery tail\n")}, "[secret] tail"},
		"ends inside":   {[]logFrame{outFrame(stampA + full[16:] + "head correct-hor")}, "head [secret]"},
		"other stream begins inside": {[]logFrame{outFrame(stampB + "a\n"),
			errFrame(stampA + "horse-battery tail\n")}, "[secret] tail"},
	} {
		got := joinFrames(m, c.frames...)
		if !strings.Contains(got, c.shown) || strings.Contains(got, "horse") {
			t.Errorf("%s: %.100q", name, got)
		}
	}
	for back := range len(secret) + 1 {
		var frames []logFrame
		whole := strings.Repeat(full, over)[back:] + secret + " tail\n"
		for i := 0; i < len(whole); i += enginePiece {
			frames = append(frames, outFrame(stampA+whole[i:min(i+enginePiece, len(whole))]))
		}
		got := joinFrames(m, frames...)
		joined := strings.ReplaceAll(strings.ReplaceAll(got, "\n", ""), stampA, "")
		if strings.Count(joined, "[secret]") != 1 || strings.Contains(joined, "horse") {
			t.Errorf("cut %d bytes into the secret: it is shown", back)
		}
	}
}
