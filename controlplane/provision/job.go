package provision

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/mask"
)

// provisionJob is one attempt at work.
type provisionJob struct {
	*Provisioner
	attempt controlplane.ProvisionAttempt
	// give ends the attempt with a reason.
	give func(error)

	node       controlplane.Node
	where      controlplane.NodeSSH
	credential nodes.SSHCredential
	machine    *sshMachine
	// stage is a folder on the machine that goes in the end.
	stage string
	// systemd reports whether the agent becomes a unit; otherwise a container.
	systemd bool
	print   controlplane.Thumbprint

	mu     sync.Mutex
	step   controlplane.ProvisionStep
	output strings.Builder
	masker *mask.Masker
	stored time.Time
}

// runSteps runs the steps in order and returns why it stopped; nil means success.
func (j *provisionJob) runSteps(ctx context.Context) *controlplane.Error {
	var err error
	if j.node, err = j.Nodes.NodeByID(ctx, systemActor(), j.attempt.NodeID); err == nil {
		j.where, j.credential, err = j.Nodes.OpenSSH(ctx, systemActor(), j.attempt.NodeID)
	}
	if err != nil {
		return j.explainMasked(ctx, "open", err)
	}
	j.maskSecrets(j.credential.Password, j.credential.Passphrase, j.credential.PrivateKey)
	defer j.cleanUp(ctx)
	for _, step := range []struct {
		key string
		do  func(context.Context) error
	}{
		{"connect", j.signInToMachine}, {"inspect", j.inspectMachine}, {"docker", j.ensureDocker},
		{"upload", j.uploadProgram}, {"identity", j.readIdentity}, {"enrol", j.enrolNode},
		{"start", j.startAgent}, {"active", j.awaitStable}, {"link", j.awaitLink},
	} {
		if err := j.beginStep(ctx, step.key); err != nil {
			return j.explainMasked(ctx, step.key, err)
		}
		err := step.do(ctx)
		if ctx.Err() != nil {
			// The reason why the context ended says more than the error that followed.
			err = context.Cause(ctx)
		}
		if err == nil {
			j.storeOutput(new(controlplane.ProvisionStepDone))
			continue
		}
		why := j.explainMasked(ctx, step.key, err)
		j.printLine(why.Message)
		j.storeOutput(new(controlplane.ProvisionStepFailed))
		return why
	}
	return nil
}

// cleanUp removes what was only needed during the attempt.
func (j *provisionJob) cleanUp(ctx context.Context) {
	if j.machine == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if j.stage != "" {
		j.machine.say = func(string) {}
		_, _ = j.machine.runAsUser(ctx, "rm", "-rf", "--", j.stage) // a leftover is harmless
	}
	_ = j.machine.client.Close() // it is of no more use
}

// beginStep starts a step.
func (j *provisionJob) beginStep(ctx context.Context, key string) error {
	j.mu.Lock()
	j.step = controlplane.ProvisionStep{Seq: j.step.Seq + 1, Key: key,
		Status: controlplane.ProvisionStepRunning}
	j.output.Reset()
	step := j.step
	j.mu.Unlock()
	return j.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Provisions().InsertStep(ctx, j.attempt, step)
	})
}

// maskSecrets hides values in all output from now on.
func (j *provisionJob) maskSecrets(secrets ...controlplane.Plain) {
	values := make([]string, len(secrets))
	for i, s := range secrets {
		values[i] = s.Reveal()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.masker = mask.New(nil, values...)
}

// currentMasker is for what a program is going to say.
func (j *provisionJob) currentMasker() *mask.Masker {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.masker
}

// explainMasked explains to people why a step failed. The last words of a program are part of
// it, and may hold what was given to the program.
func (j *provisionJob) explainMasked(
	ctx context.Context,
	step string,
	err error,
) *controlplane.Error {
	why := *explainStep(ctx, step, err)
	why.Message = j.currentMasker().Mask(why.Message)
	return &why
}

// printLine adds a line to the step's output, and stores it if the last time was a
// while ago.
func (j *provisionJob) printLine(line string) {
	j.mu.Lock()
	line = strings.ToValidUTF8(strings.ReplaceAll(line, "\x00", ""), "\uFFFD")
	line = strings.TrimRight(j.masker.Mask(line), "\r")
	if room := maxOutput - j.output.Len() - 1; room > 0 {
		j.output.WriteString(strings.ToValidUTF8(line[:min(len(line), room)], "") + "\n")
	}
	due := time.Since(j.stored) > 500*time.Millisecond
	j.mu.Unlock()
	if due {
		j.storeOutput(nil)
	}
}

// storeOutput stores the step's output so far. With a status, it ends the step.
func (j *provisionJob) storeOutput(status *controlplane.ProvisionStepStatus) {
	j.mu.Lock()
	if status != nil {
		j.step.Status = *status
	}
	step := j.step
	step.Output = j.output.String()
	j.stored = time.Now()
	j.mu.Unlock()
	if step.Seq == 0 || status == nil && step.Status != controlplane.ProvisionStepRunning {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := j.Store.InTx(ctx, func(tx *postgres.Tx) error {
		if err := tx.Provisions().SetStep(ctx, j.attempt, step); err != nil || status == nil {
			return err
		}
		return tx.NodeEvents().Add(ctx, j.attempt.NodeID, controlplane.NodeProvisionStep,
			clipText(step.Key+": "+string(step.Status)+"\n"+step.Output))
	})
	if err != nil {
		j.Log.WarnContext(ctx, "output of a provisioning step was not stored", "error", err)
	}
}
