package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// resultWords say what happened, and what would.
var resultWords = map[apiclient.DocumentResultAction][2]string{
	apiclient.DocumentResultActionCreated:   {"created", "would be created"},
	apiclient.DocumentResultActionChanged:   {"changed", "would change"},
	apiclient.DocumentResultActionUnchanged: {"unchanged", "unchanged"},
	apiclient.DocumentResultActionDeleted:   {"deleted", "would be deleted"},
}

// printResults prints a line for each definition and part; a preview also says which
// fields would change.
func printResults(
	out io.Writer, all apiclient.DocumentResults, body apiclient.Documents, preview bool,
) error {
	for _, r := range all.Results {
		words := resultWords[r.Action]
		said := words[0]
		if preview {
			said = words[1]
		}
		if _, err := fmt.Fprintf(out, "%-40s %s\n", resultName(r), said); err != nil {
			return err
		}
		if preview {
			printChanges(out, r)
			continue
		}
		if r.Secret != nil {
			fmt.Fprintf(out, "  secret %s\n  It is shown only now.\n", *r.Secret)
		}
		if r.Kind == "node" && r.Action == apiclient.DocumentResultActionCreated {
			// A document never holds a token.
			fmt.Fprintf(out, "  it has no token yet; 'nullops node rotate %s' shows its first\n", r.Name)
		}
	}
	if len(all.Unlisted) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\n%s also holds what these documents do not define any more:\n",
		valueOrZero(body.Owner))
	for _, d := range all.Unlisted {
		fmt.Fprintf(out, "  %s %s\n", d.Kind, d.Name)
	}
	_, err := fmt.Fprintln(out, "Apply with --prune to delete it.")
	return err
}

// resultName is "project shop", and for a part "secret shop TOKEN".
func resultName(r apiclient.DocumentResult) string {
	part, rest, _ := strings.Cut(valueOrZero(r.Part), " ")
	switch {
	case part == "":
		return string(r.Kind) + " " + r.Name
	case r.Version != nil:
		return fmt.Sprintf("%s %s v%d", part, r.Name, *r.Version)
	}
	return strings.TrimSpace(part + " " + r.Name + " " + rest)
}

func printChanges(out io.Writer, r apiclient.DocumentResult) {
	printFields(out, "    ", r.Changes)
	switch {
	case r.Diff != nil && !r.Diff.Empty():
		printDiff(out, "    ", *r.Diff)
	case r.Diff != nil:
		fmt.Fprintln(out, "    the services or plugins that it uses changed")
	case r.Action == apiclient.DocumentResultActionChanged && len(r.Changes) == 0 && r.Part == nil:
		fmt.Fprintln(out, "    a value that cannot be shown")
	}
}

// printSaved prints the result of saving one object.
func printSaved(out io.Writer, what string, body []byte) error {
	var saved struct{ Changed, Created bool }
	if err := json.Unmarshal(body, &saved); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	result := "unchanged"
	if saved.Created {
		result = "created"
	} else if saved.Changed {
		result = "changed"
	}
	_, err := fmt.Fprintf(out, "%-40s %s\n", what, result)
	return err
}
