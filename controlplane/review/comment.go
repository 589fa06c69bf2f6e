package review

import (
	"fmt"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/internal/quantity"
)

// commentText returns the comment for a pull request, as Markdown.
func commentText(x controlplane.Review, links []string, tests *controlplane.TestSummary) string {
	var b strings.Builder
	switch x.State {
	case controlplane.ReviewReady:
		fmt.Fprintf(&b, "NullOps: `%s` is ready with the tag `%s`.\n", x.Deployment, x.Tag)
	case controlplane.ReviewRemoved:
		fmt.Fprintf(&b, "NullOps: `%s` was removed.", x.Deployment)
		if x.Want == controlplane.GoalPresent && x.CommentID != "" {
			b.WriteString(" A push creates it again, and so does /nullops deploy.")
		}
		return b.String() + "\n"
	case controlplane.ReviewWaiting, controlplane.ReviewCreating:
		fmt.Fprintf(&b, "NullOps: `%s` is on its way: %s\n", x.Deployment, quoteMarkdown(x.Detail))
	default:
		fmt.Fprintf(&b, "NullOps: `%s` failed: %s\n", x.Deployment, quoteMarkdown(x.Detail))
	}
	if x.Remark != "" {
		fmt.Fprintf(&b, "\n%s\n\n", quoteMarkdown(x.Remark))
	}
	for _, l := range links {
		fmt.Fprintf(&b, "- %s\n", l)
	}
	if tests != nil {
		writeTests(&b, *tests)
	}
	return b.String()
}

// writeTests adds the numbers and the first names of tests that failed.
func writeTests(b *strings.Builder, t controlplane.TestSummary) {
	fmt.Fprintf(b, "\nTests: %s.\n", describeTests(t))
	for _, name := range t.Names {
		fmt.Fprintf(b, "- %s\n", codeSpan(name))
	}
	if more := t.Failed - len(t.Names); more > 0 && len(t.Names) > 0 {
		fmt.Fprintf(b, "- and %d more\n", more)
	}
	if t.Problem != "" {
		fmt.Fprintf(b, "\n%s\n", quoteMarkdown(t.Problem))
	}
}

// describeTests summarizes test results, such as "3 of 120 failed, 2 skipped, in 41 s".
func describeTests(t controlplane.TestSummary) string {
	var said string
	switch {
	case t.Tests == 0 && t.Problem != "":
		return "no results"
	case t.Failed > 0:
		said = fmt.Sprintf("%d of %d failed", t.Failed, t.Tests)
	default:
		said = fmt.Sprintf("%d passed", t.Tests-t.Skipped)
	}
	if t.Skipped > 0 {
		said += fmt.Sprintf(", %d skipped", t.Skipped)
	}
	took := time.Duration(t.Seconds * float64(time.Second))
	return said + ", in " + quantity.FormatElapsed(took)
}

// quoteMarkdown shows a sentence that may hold names which others chose, such as those of
// tests: a plain sentence as it is, and anything that Markdown could read as code. A name
// must not call people, load pictures or pretend to be ours.
func quoteMarkdown(sentence string) string {
	plain := !strings.Contains(sentence, "://") && !strings.Contains(sentence, "www.")
	for _, r := range sentence {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune(" .,:;/()'\"-%", r) {
			plain = false
		}
	}
	if plain {
		return sentence
	}
	return codeSpan(sentence)
}

// codeSpan shows a text as code, on one line. The fence is longer than any in the text.
func codeSpan(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	fence, run := "`", 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		if run++; run >= len(fence) {
			fence = strings.Repeat("`", run+1)
		}
	}
	if text == "" || strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}
