package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// sshFlags say how the control plane reaches a machine.
type sshFlags struct {
	target, key, hostKey            string
	passwordStdin, forget           bool
	installDocker                   bool
	dir, data, run, docker, subnets string
}

func (f *sshFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.target, "ssh", "", "USER@HOST or USER@HOST:PORT: have the control plane sign "+
		"in there and start the agent")
	flags.StringVar(&f.key, "ssh-key", "", "file with the private key (default: ask for a password)")
	flags.BoolVar(&f.passwordStdin, "ssh-password-stdin", false,
		"read the password from standard input; with --ssh-key, the key's passphrase")
	flags.StringVar(&f.hostKey, "host-key", "", "SHA256:… fingerprint of the machine's host key "+
		"(default: show it and ask)")
	flags.BoolVar(&f.forget, "forget", false, "forget password and key once the node is ready")
	flags.BoolVar(&f.installDocker, "install-docker", false,
		"install Docker with apt-get where it is missing")
	flags.StringVar(&f.dir, "dir", "", "folder of the program there (default /opt/nullops)")
	flags.StringVar(&f.data, "data", "", "the agent's data folder (default /var/lib/nullops)")
	flags.StringVar(&f.run, "run", "", "the agent's folder in memory (default /run/nullops)")
	flags.StringVar(&f.docker, "docker", "", "the engine's socket there, unix:///…")
	flags.StringVar(&f.subnets, "subnets", "", "range of addresses for deployments' networks")
}

// parseTarget reads USER@HOST:PORT. A port of 0 is SSH's own.
func (f *sshFlags) parseTarget() (user, host string, port int, err error) {
	user, host, ok := strings.Cut(f.target, "@")
	if !ok || user == "" || host == "" {
		return "", "", 0, exit.AsUsageError(fmt.Errorf("--ssh %q: write USER@HOST or USER@HOST:PORT",
			f.target))
	}
	if name, text, err := net.SplitHostPort(host); err == nil {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return "", "", 0, exit.AsUsageError(fmt.Errorf("--ssh %q: a port is 1 to 65535", f.target))
		}
		host, port = name, int(n)
	}
	return user, strings.Trim(host, "[]"), port, nil
}

// buildBody asks for what is missing: the secret, and whether the host key is right.
func (f *sshFlags) buildBody(c *cobra.Command, api *client) (*apiclient.ProvisionSSH, error) {
	user, host, port, err := f.parseTarget()
	if err != nil {
		return nil, err
	}
	body := &apiclient.ProvisionSSH{User: user, Host: host, HostKey: f.hostKey,
		Forget: &f.forget, InstallDocker: &f.installDocker}
	if port != 0 {
		body.Port = &port
	}
	for value, field := range map[*string]**string{&f.dir: &body.Directory, &f.data: &body.Data,
		&f.run: &body.Run, &f.docker: &body.Docker, &f.subnets: &body.Subnets} {
		if *value != "" {
			*field = value
		}
	}
	if body.HostKey == "" {
		if body.HostKey, err = confirmHostKey(c, api, host, body.Port); err != nil {
			return nil, err
		}
	}
	return body, f.readSecret(c, body)
}

func (f *sshFlags) readSecret(c *cobra.Command, body *apiclient.ProvisionSSH) error {
	if f.key == "" {
		password, err := readPassword(c, f.passwordStdin)
		body.Password = &password
		return err
	}
	text, err := os.ReadFile(f.key)
	if err != nil {
		return exit.AsUsageError(fmt.Errorf("--ssh-key: %w", err))
	}
	key := string(text)
	body.PrivateKey = &key
	if f.passwordStdin {
		passphrase, err := readPassword(c, true)
		body.Passphrase = &passphrase
		return err
	}
	return nil
}

// confirmHostKey shows the host key that the control plane sees, and asks whether it
// is the machine's.
func confirmHostKey(c *cobra.Command, api *client, host string, port *int) (string, error) {
	r, err := api.ReadSSHHostKeyWithResponse(c.Context(),
		apiclient.SSHHost{Host: host, Port: port})
	if err := checkAnswer(r, err); err != nil {
		return "", err
	}
	shown := *r.JSON200
	fmt.Fprintf(c.ErrOrStderr(), "%s shows the %s key %s\n", host, output.SanitizeText(shown.Kind),
		output.SanitizeText(shown.Fingerprint))
	if !output.IsTerminal(os.Stdin) {
		return "", exit.AsUsageError(fmt.Errorf("compare that with the machine's own "+
			"(ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub) and give --host-key %s",
			shown.Fingerprint))
	}
	fmt.Fprint(c.ErrOrStderr(), "Is it the machine's? Type yes to go on: ")
	said, err := bufio.NewReader(io.LimitReader(c.InOrStdin(), 100)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimSpace(said) != "yes" {
		return "", errors.New("the host key was not confirmed; nothing was sent")
	}
	return shown.Fingerprint, nil
}

// addOverSSH adds a node and has the control plane set its machine up.
func addOverSSH(c *cobra.Command, api *client, f *sshFlags, node apiclient.NodeCreate) error {
	_, host, _, err := f.parseTarget()
	if err != nil {
		return err
	}
	ssh, err := f.buildBody(c, api)
	if err != nil {
		return err
	}
	if node.Address == "" {
		node.Address = net.JoinHostPort(host, "5000")
	}
	r, err := api.CreateNodeWithResponse(c.Context(), nil, node)
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	return provisionNode(c, api, node.Name, ssh)
}

// provisionNode begins an attempt and follows it to its end.
func provisionNode(
	c *cobra.Command, api *client, name string, ssh *apiclient.ProvisionSSH,
) error {
	r, err := api.ProvisionNodeWithResponse(c.Context(), name, nil,
		apiclient.ProvisionStart{Ssh: ssh})
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	shown := map[int]string{}
	path := fmt.Sprintf("/api/v1/nodes/%s/provisions/%d/events", name, r.JSON202.Number)
	return api.followEvents(c.Context(), path, url.Values{}, func(e sse) (bool, error) {
		switch e.Event {
		case "step":
			var step apiclient.ProvisionStep
			if err := json.Unmarshal([]byte(e.Data), &step); err != nil {
				return false, fmt.Errorf("read a step: %w", err)
			}
			showStep(c.OutOrStdout(), step, shown)
		case "provision":
			var p apiclient.Provision
			if err := json.Unmarshal([]byte(e.Data), &p); err != nil {
				return false, fmt.Errorf("read the attempt: %w", err)
			}
			return reportEnd(c.OutOrStdout(), p)
		}
		return false, nil
	})
}

// showStep prints a step's output since the last call.
func showStep(out io.Writer, step apiclient.ProvisionStep, shown map[int]string) {
	before, begun := shown[step.Seq]
	if !begun {
		fmt.Fprintf(out, "%s\n", step.Key)
	}
	shown[step.Seq] = step.Output
	for line := range strings.Lines(strings.TrimPrefix(step.Output, before)) {
		fmt.Fprintf(out, "    %s\n", output.SanitizeText(strings.TrimRight(line, "\n")))
	}
}

// reportEnd prints how an attempt ended, and reports whether it has.
func reportEnd(out io.Writer, p apiclient.Provision) (bool, error) {
	switch p.State {
	case apiclient.ProvisionStateReady:
		_, err := fmt.Fprintf(out, "Node %s is ready.\n", p.Node)
		return true, err
	case apiclient.ProvisionStateError:
		return true, fmt.Errorf("attempt %d: %s\n%s\nTo try again: nullops node provision %s",
			p.Number, output.SanitizeText(valueOrZero(p.Message)),
			output.SanitizeText(valueOrZero(p.Remedy)), p.Node)
	default:
		return false, nil
	}
}

// nodeProvision tries again, or for the first time.
func nodeProvision() *cobra.Command {
	var f sshFlags
	c := &cobra.Command{
		Use: "provision NAME [--ssh USER@HOST]", Args: exit.ExactArgs(1),
		Short: "Have the control plane set a node's machine up over SSH",
		Long: "Signs in to the machine, uploads the agent, checks Docker, starts the agent and\n" +
			"waits until the agent is connected. Without --ssh it uses the settings of the last time.",
	}
	f.register(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		var ssh *apiclient.ProvisionSSH
		if f.target != "" {
			if ssh, err = f.buildBody(c, api); err != nil {
				return err
			}
		}
		return provisionNode(c, api, args[0], ssh)
	}
	return c
}

// nodeAttempts lists what was tried.
func nodeAttempts() *cobra.Command {
	c := &cobra.Command{Use: "attempts NAME", Args: exit.ExactArgs(1),
		Short: "List attempts to set a node's machine up, newest first"}
	asJSON := output.JSONFlag[[]apiclient.Provision](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListProvisionsWithResponse(c.Context(), args[0],
			&apiclient.ListProvisionsParams{})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"NUMBER", "STATE", "BY", "STEP", "REASON"}}
		for _, p := range r.JSON200.Items {
			step := ""
			if len(p.Steps) > 0 {
				step = p.Steps[len(p.Steps)-1].Key
			}
			rows = append(rows, []string{strconv.Itoa(p.Number), string(p.State), p.StartedBy, step,
				valueOrZero(p.Message)})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}
