package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ManPages are the man pages of section 1, by their file names. They carry no date: the same
// release makes the same pages.
func (p Program) ManPages() map[string]string {
	pages := map[string]string{}
	for _, c := range append([]*cobra.Command{p.Root}, p.Commands()...) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		pages[name+".1"] = manPage(c, name)
	}
	return pages
}

func manPage(c *cobra.Command, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"%s\" \"NullOps\"\n", roff(strings.ToUpper(name)),
		roff("nullops "+c.Root().Version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(c.Long))
	}
	options := strings.Builder{}
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			fmt.Fprintf(&options, ".TP\n.B %s\n%s\n", roff(flagName(f)), roff(f.Usage))
		}
	})
	if options.Len() > 0 {
		b.WriteString(".SH OPTIONS\n" + options.String())
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(unindent(c.Example)))
	}
	var also []string
	if c.HasParent() {
		also = append(also, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))
	}
	for _, below := range c.Commands() {
		if !below.Hidden && below.Name() != "help" {
			also = append(also, strings.ReplaceAll(below.CommandPath(), " ", "-"))
		}
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", roff(strings.Join(also, "(1), ")+"(1)"))
	}
	return b.String()
}

// roff keeps a text from being read as requests and escapes.
func roff(text string) string {
	text = strings.NewReplacer("\\", "\\e", "-", "\\-").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = "\\&" + line
		}
	}
	return strings.Join(lines, "\n")
}
