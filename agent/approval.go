package agent

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/internal/text"
	"github.com/nullops/nullops/pipeline"
)

// maxQuestion bounds a question after its references were filled in: an output
// may be long, and a person has to read it.
const maxQuestion = 16 << 10

// evalPrompt fills in the references of an approval's question. Secrets in the result are
// masked later, as in every other text that people read.
func (o operation) evalPrompt() operationResult {
	step, _ := o.goal.Pipeline.Step(o.do.Step)
	if step.Approval == nil {
		return unresolvedResult(errors.New("the step is no approval"))
	}
	question, secret, err := pipeline.EvalText(step.Approval.Prompt, newScope(o.goal, o.bundle))
	if err == nil && secret {
		err = errors.New("it turned out to be secret, and many people read the question")
	}
	if err != nil {
		return unresolvedResult(fmt.Errorf("prompt: %w", err))
	}
	return operationResult{
		result: engine.Result{Outcome: engine.OutcomeOK, Message: text.Clip(question, maxQuestion)},
	}
}

func unresolvedResult(err error) operationResult {
	return operationResult{result: engine.Result{Outcome: engine.OutcomeNo, Code: CodeUnresolved,
		Message: err.Error()}}
}

// completeApproval turns a person's reply into the outputs of the approval step.
func (o operation) completeApproval() operationResult {
	reply := o.do.Reply
	if reply == nil {
		return unresolvedResult(errors.New("nobody answered"))
	}
	outputs := map[string]any{}
	maps.Copy(outputs, reply.Fields)
	outputs[pipeline.OutputAnswer] = "approved"
	outputs[pipeline.OutputAnsweredBy] = reply.By
	outputs[pipeline.OutputAnsweredAt] = reply.At.UTC().Format(time.RFC3339)
	return operationResult{
		ran:     true,
		outputs: outputs,
		result: engine.Result{Outcome: engine.OutcomeOK,
			Message: reply.By + " approved it"},
	}
}
