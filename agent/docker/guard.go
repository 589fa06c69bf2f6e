package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// userChain is where the engine lets its user's rules come first.
const userChain = "DOCKER-USER"

// linkLocal holds what answers only on the machine's own wire: the metadata
// service of every cloud, with the machine's credentials, among it.
const linkLocal = "169.254.0.0/16"

var (
	errGuardOff = errors.New("the setting agent.guard is off")
	// errGuardBlind: the agent could only set the rules of its own container's network.
	errGuardBlind = errors.New("the agent does not share the host's network")
	errNoIPTables = errors.New("iptables is not installed beside the agent")
	errNoChain    = errors.New("the engine keeps no chain " + userChain + " here")
	errNotThere   = errors.New("the rules are not there; an agent that may sets them")
)

// Guard is how containers are kept from what they have no business with.
type Guard struct {
	// Port is the agent's own: every container could reach it through its
	// gateway. Zero means that it is not known.
	Port int
	// LookOnly reports what is missing and sets nothing.
	LookOnly bool
}

// guardRules are the iptables rules that isolate deployments. What they may not reach is in a
// chain of its own, so that it is replaced as a whole. The chain's name is a hash of pool and port,
// so that a reinstalled agent finds its old chain.
type guardRules struct {
	pool netip.Prefix
	port int
}

func (g guardRules) chainName() string {
	sum := sha256.Sum256(fmt.Append(nil, g.pool, g.port))
	return "NULLOPS-" + hex.EncodeToString(sum[:4])
}

// dropRules are the chain's rules, as iptables prints them.
func (g guardRules) dropRules() []string {
	all := []string{"-A " + g.chainName() + " -d " + linkLocal + " -j DROP"}
	if g.port > 0 {
		// Local addresses only: the same port of another machine is not ours to block.
		all = append(all, "-A "+g.chainName()+" -p tcp -m tcp --dport "+strconv.Itoa(g.port)+
			" -m addrtype --dst-type LOCAL -j DROP")
	}
	return all
}

// rules are what leads to the chain, from our containers to elsewhere and to this host, and
// what keeps our networks apart, each as iptables takes it after -I or -C.
//
// Engines before 28 take the jump to their isolation out for a moment whenever they make a network,
// and whoever dials meanwhile gets through to another deployment. Nothing that is ours is routed
// from one of our networks to another, and the table mangle is one that the engine leaves alone.
// What stays on one bridge is a deployment's own: with br_netfilter it passes here too.
func (g guardRules) rules() []guardRule {
	pool := g.pool.String()
	return []guardRule{
		{"filter", userChain + " -s " + pool + " -j " + g.chainName()},
		{"filter", "INPUT -s " + pool + " -j " + g.chainName()},
		{"mangle", "FORWARD -s " + pool + " -d " + pool +
			" -m physdev ! --physdev-is-bridged -j DROP"},
	}
}

// guardRule is a rule of one of iptables' tables, beginning with its chain.
type guardRule struct{ table, rule string }

// args are those of iptables that do something with the rule: -C, -I.
func (r guardRule) args(do string) []string {
	return append([]string{"-t", r.table, do}, strings.Fields(r.rule)...)
}

// restoreInput is the chain as iptables-restore takes it: at once or not at all.
func (g guardRules) restoreInput() string {
	return "*filter\n:" + g.chainName() + " - [0:0]\n" + strings.Join(
		g.dropRules(),
		"\n",
	) + "\nCOMMIT\n"
}

// hostGuard puts the guard's rules into the host's packet filter.
type hostGuard struct{ *engine }

// GuardCommands are what a person types where the agent may not.
func (hg *hostGuard) GuardCommands() []string {
	if hg.config.Guard == nil {
		return nil
	}
	g := guardRules{pool: hg.config.SubnetRange.Masked(), port: hg.config.Guard.Port}
	all := []string{"iptables -N " + g.chainName()}
	for _, rule := range g.dropRules() {
		all = append(all, "iptables "+rule)
	}
	for _, r := range g.rules() {
		all = append(all, "iptables "+strings.Join(r.args("-I"), " "))
	}
	return all
}

// guardProblem makes sure that the rules are there, and says why they are not.
func (hg *hostGuard) guardProblem(ctx context.Context, n hostNetwork) error {
	switch {
	case hg.config.Guard == nil:
		return errGuardOff
	case hg.hostPaths().ownNetwork:
		return errGuardBlind
	case n.missing:
		return errNoIPTables
	case !n.visible:
		return errNoChain
	}
	g := guardRules{pool: hg.config.SubnetRange.Masked(), port: hg.config.Guard.Port}
	if hg.config.Guard.LookOnly {
		if !g.isInstalled(ctx) {
			return errNotThere
		}
		return nil
	}
	return g.ensure(ctx)
}

func (g guardRules) isInstalled(ctx context.Context) bool {
	if !g.chainThere(ctx) {
		return false
	}
	for _, r := range g.rules() {
		if _, err := runIptables(ctx, r.args("-C")...); err != nil {
			return false
		}
	}
	return true
}

func (g guardRules) chainThere(ctx context.Context) bool {
	out, err := runIptables(ctx, "-S", g.chainName())
	want := "-N " + g.chainName() + "\n" + strings.Join(g.dropRules(), "\n")
	return err == nil && strings.TrimSpace(out) == want
}

// ensure restores missing rules: reloading a firewall removes rules that it did not set
// itself.
func (g guardRules) ensure(ctx context.Context) error {
	if !g.chainThere(ctx) {
		if err := g.replaceChain(ctx); err != nil {
			return err
		}
	}
	for _, r := range g.rules() {
		if _, err := runIptables(ctx, r.args("-C")...); err == nil {
			continue
		}
		if _, err := runIptables(ctx, r.args("-I")...); err != nil {
			return err
		}
	}
	return nil
}

func (g guardRules) replaceChain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, filterWithin)
	defer cancel()
	c := exec.CommandContext(ctx, "iptables-restore", "-w", "3", "--noflush")
	c.Stdin, c.WaitDelay = strings.NewReader(g.restoreInput()), time.Second
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("iptables-restore: %w: %s", err, clipOutput(string(out)))
	}
	return nil
}
