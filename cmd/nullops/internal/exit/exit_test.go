package exit_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// answered is an error with which the control plane answered.
type answered int

func (a answered) Error() string   { return fmt.Sprint(int(a)) }
func (a answered) HTTPStatus() int { return int(a) }

// Scripts depend on the exit codes: the code that was chosen counts, then the control plane's
// answer.
func TestCodeOf(t *testing.T) {
	for err, want := range map[error]int{
		errors.New("broken"):                             exit.Failed,
		exit.AsUsageError(errors.New("wrong")):           exit.Usage,
		errors.New(`unknown command "x" for "nullops"`):  exit.Usage,
		fmt.Errorf("list: %w", answered(401)):            exit.Forbidden,
		answered(403):                                    exit.Forbidden,
		answered(409):                                    exit.Refused,
		answered(503):                                    exit.Failed,
		exit.WithCode(answered(403), exit.Refused):       exit.Refused,
		exit.WithCode(exit.ErrSilent, exit.NotReady):     exit.NotReady,
		exit.AsUsageError(fmt.Errorf("%w", answered(9))): exit.Usage,
	} {
		if got := exit.CodeOf(err); got != want {
			t.Errorf("%v ends with %d, not %d", err, got, want)
		}
	}
}
