package controlplane

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nullops/nullops/internal/text"
	"github.com/nullops/nullops/pipeline"
)

// CodeUndoFailed is of a step whose clean-up failed. It says nothing of the step's own result.
const CodeUndoFailed = "undo_failed"

// Failure says what went wrong, and in which step.
type Failure struct {
	Step pipeline.StepKey
	Code string
	// Message begins in lower case and names the cause; see Sentence.
	Message string
	// Line is the number of the line in the step's log that says why; 0 if none does, or if it was
	// not looked for.
	Line int64
}

// maxReason is how much of a failure's message is in its sentence, in bytes. With the longest name
// of a step it is less than what code hosts are told, so that nobody reads another end of it.
const maxReason = 400

// Sentence is the cause in one sentence, the same for lists, pages, commands and notifications:
// one line without colours and other control characters, whatever a program wrote.
func (f Failure) Sentence() string {
	said := text.CleanLine(f.Message, maxReason)
	if f.Step != "" {
		said = "Step " + string(f.Step) + " failed: " + said
	} else if first, size := utf8.DecodeRuneInString(said); size > 0 {
		said = string(unicode.ToUpper(first)) + said[size:]
	}
	if last, _ := utf8.DecodeLastRuneInString(said); strings.ContainsRune(".!?…", last) {
		return said
	}
	return said + "."
}

// Remedy says what a person can try, by the code of the failure; empty if nothing is known to help.
func (f Failure) Remedy() string {
	switch f.Code {
	case "service_exited", "exit_code":
		return "Read the step's log, correct the image or its settings, and retry."
	case "not_ready":
		return "Compare the port and path of the readiness check with what the service offers. " +
			"If it only needs more time, allow more tries."
	case "oom":
		return "Raise the step's memory limit in the pipeline, or let the program use less."
	case "timeout":
		return "Read the step's log to see where it stopped. If it only needs more time, raise " +
			"the step's timeout in the pipeline."
	case "killed_by_stranger":
		return "Find out who else manages containers on the node, and retry."
	case "image_pull":
		return "Check that the tag exists and that the registry answers and accepts its password, " +
			"then retry."
	case "plugin_failed", "script_failed":
		return "Read the step's log, correct its parameters or what it works on, and retry."
	case "no_output", "two_documents", "invalid_output", "stdout_too_large", "outputs_too_large",
		"output_schema":
		return "Tell the author of the plugin: it has to print one JSON object on stdout, with the " +
			"outputs that it declares. `nullops plugin test` shows what it prints."
	case "start":
		return "Correct the step's command, its files and its mounts, or the image, and retry."
	case "unresolved":
		return "Correct the reference in the pipeline, or set the secret that it names."
	}
	return f.rareRemedy()
}

// rareRemedy has what concerns the run or its node more than the step's program.
func (f Failure) rareRemedy() string {
	switch f.Code {
	case "no_test_results":
		return "Correct the folder of the step's test results, or what its command writes there."
	case "tests_failed":
		return "Open the failed tests of the step."
	case "rejected", "unanswered":
		return "Retry, and ask the people who may answer."
	case "deadline", "queue_deadline":
		return "Retry with a later deadline, or when the environment has more room."
	case "secrets_refused":
		return "Check that every secret of the project opens, then retry."
	case "script_unavailable":
		return "Ask an admin to see the checks of the node."
	case "unknown_outcome":
		return "Look at what the step did before you retry: it may have worked."
	case "unknown_format":
		return "Upgrade the agent of the node, then retry."
	case CodeUndoFailed, "left_over", "copy_lost":
		return "Remove what is left, or ask an admin of the node to."
	case "memory_lost":
		return "Ask an admin whether the data folder of the agent was replaced."
	}
	return ""
}
