//go:build kubernetes

package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// enforcer stands in for a network plugin that enforces policies, which cannot be had here as a Go
// module: it reads the NetworkPolicies that the cluster stores, and writes rules of the kernel's
// packet filter into the node's network namespace. It knows what our policies use and no more: an
// address range must be the last peer of a policy.
type enforcer struct {
	t     *testing.T
	admin admin
	space string
	rules string
}

// enforcePolicies enforces them until the test ends.
func enforcePolicies(t *testing.T) {
	t.Helper()
	e := &enforcer{t: t, admin: newAdmin(t), space: os.Getenv(spaceVariable)}
	e.write()
	for _, chain := range []string{"FORWARD", "INPUT"} {
		e.run("iptables", "-w", "-I", chain, "-j", "POLICIES")
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
				e.write()
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-ended
		for _, chain := range []string{"FORWARD", "INPUT"} {
			e.run("iptables", "-w", "-D", chain, "-j", "POLICIES")
		}
	})
}

func (e *enforcer) run(command ...string) {
	c := exec.Command("nsenter", append([]string{"--net=/run/netns/" + e.space}, command...)...)
	if output, err := c.CombinedOutput(); err != nil {
		e.t.Errorf("%s: %v %s", strings.Join(command, " "), err, output)
	}
}

func (e *enforcer) read(path string, into any) {
	if err := json.Unmarshal([]byte(e.admin.mustDo(http.MethodGet, path, "")), into); err != nil {
		e.t.Error(err)
	}
}

// write brings the rules to what the cluster stores now.
func (e *enforcer) write() {
	var pods corev1.PodList
	var policies networkingv1.NetworkPolicyList
	var spaces corev1.NamespaceList
	e.read("/api/v1/pods", &pods)
	e.read("/apis/networking.k8s.io/v1/networkpolicies", &policies)
	e.read("/api/v1/namespaces", &spaces)
	r := rules{pods: pods.Items, spaces: spaces.Items, chains: map[string][]string{}}
	r.main = append(r.main, "-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN")
	for _, p := range pods.Items {
		r.addPod(p, policies.Items)
	}
	text := r.text()
	if text == e.rules {
		return
	}
	c := exec.Command("nsenter", "--net=/run/netns/"+e.space, "iptables-restore", "-w", "--noflush")
	c.Stdin = strings.NewReader(text)
	if output, err := c.CombinedOutput(); err != nil {
		e.t.Errorf("iptables-restore: %v %s\n%s", err, output, text)
	}
	e.rules = text
}

// rules are those of one moment.
type rules struct {
	pods   []corev1.Pod
	spaces []corev1.Namespace
	main   []string
	chains map[string][]string
}

func (r *rules) text() string {
	var b strings.Builder
	b.WriteString("*filter\n:POLICIES - [0:0]\n")
	names := []string{}
	for name := range r.chains {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, ":%s - [0:0]\n", name)
	}
	for _, rule := range r.main {
		fmt.Fprintf(&b, "-A POLICIES %s\n", rule)
	}
	for _, name := range names {
		for _, rule := range r.chains[name] {
			fmt.Fprintf(&b, "-A %s %s\n", name, rule)
		}
	}
	b.WriteString("COMMIT\n")
	return b.String()
}

// addPod gives a pod that policies select a chain for each direction, which ends with a refusal.
func (r *rules) addPod(p corev1.Pod, policies []networkingv1.NetworkPolicy) {
	if p.Status.PodIP == "" || p.Spec.HostNetwork {
		return
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(p.UID))
	for _, direction := range []networkingv1.PolicyType{networkingv1.PolicyTypeIngress,
		networkingv1.PolicyTypeEgress} {
		chain, selected := fmt.Sprintf("%.1s-%08x", direction, sum.Sum32()), false
		far, near := "-s", "-d"
		if direction == networkingv1.PolicyTypeEgress {
			far, near = "-d", "-s"
		}
		var allowed []string
		for _, policy := range policies {
			if policy.Namespace != p.Namespace ||
				!slices.Contains(policy.Spec.PolicyTypes, direction) ||
				!matches(&policy.Spec.PodSelector, p.Labels) {
				continue
			}
			selected = true
			if direction == networkingv1.PolicyTypeIngress {
				for _, rule := range policy.Spec.Ingress {
					allowed = append(allowed, r.allow(p.Namespace, far, rule.From, rule.Ports)...)
				}
				continue
			}
			for _, rule := range policy.Spec.Egress {
				allowed = append(allowed, r.allow(p.Namespace, far, rule.To, rule.Ports)...)
			}
		}
		if selected {
			r.main = append(r.main, fmt.Sprintf("%s %s -j %s", near, p.Status.PodIP, chain))
			r.chains[chain] = append(allowed, "-j DROP")
		}
	}
}

// allow returns the rules that let the peers through.
func (r *rules) allow(
	namespace, far string, peers []networkingv1.NetworkPolicyPeer,
	ports []networkingv1.NetworkPolicyPort,
) (all []string) {
	matchers := []string{""}
	if len(ports) > 0 {
		matchers = nil
		for _, p := range ports {
			matchers = append(matchers, fmt.Sprintf(" -p %s --dport %d",
				strings.ToLower(string(*p.Protocol)), p.Port.IntVal))
		}
	}
	for _, peer := range peers {
		if b := peer.IPBlock; b != nil {
			if strings.Contains(b.CIDR, ":") {
				continue
			}
			for _, except := range b.Except {
				all = append(all, far+" "+except+" -j DROP")
			}
			all = append(all, far+" "+b.CIDR+" -j RETURN")
			continue
		}
		for _, p := range r.pods {
			if p.Status.PodIP == "" || !r.isPeer(namespace, peer, p) {
				continue
			}
			for _, m := range matchers {
				all = append(all, far+" "+p.Status.PodIP+m+" -j RETURN")
			}
		}
	}
	return all
}

func (r *rules) isPeer(
	namespace string, peer networkingv1.NetworkPolicyPeer, p corev1.Pod,
) bool {
	if peer.PodSelector != nil && !matches(peer.PodSelector, p.Labels) {
		return false
	}
	if peer.NamespaceSelector == nil {
		return p.Namespace == namespace
	}
	return slices.ContainsFunc(r.spaces, func(n corev1.Namespace) bool {
		return n.Name == p.Namespace && matches(peer.NamespaceSelector, n.Labels)
	})
}

func matches(selector *metav1.LabelSelector, of map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(of))
}
