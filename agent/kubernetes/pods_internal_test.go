package kubernetes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

const internalDeployment = "0190b0de-0000-7000-8000-000000000001"

func newTestServices(t *testing.T, known map[string]imageConfig) *Kubernetes {
	t.Helper()
	b := &base{config: Config{Install: "test", Helper: "registry.test/agent:1"}.withDefaults(),
		names: newNames("nullops", "test")}
	k := assembleParts(b)
	k.images.known = known
	return k
}

// No pod of ours has credentials of the cluster or variables of other services, and none may gain
// rights; what a step names is limit and request.
func TestPods_AreHardened(t *testing.T) {
	t.Parallel()
	k := newTestServices(t, map[string]imageConfig{"r.test/p:1": {Entrypoint: []string{"/p"},
		User: "root", Volumes: []string{"/data"}}})
	image := pipeline.Image{Registry: "r.test", Repository: "p", Tag: "1"}
	service, err := k.services.podTemplate(t.Context(), agent.ServiceSpec{Step: "web", Image: image,
		Deployment: internalDeployment, Resources: pipeline.Resources{CPU: 0.5, MemoryMiB: 64}})
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := k.plugins.newPod(t.Context(), agent.PluginSpec{Step: "make", Action: "create",
		Deployment: internalDeployment, Image: image})
	if err != nil {
		t.Fatal(err)
	}
	for name, pod := range map[string]corev1.PodSpec{"service": service.Spec,
		"plugin": plugin.Spec} {
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken ||
			pod.EnableServiceLinks == nil || *pod.EnableServiceLinks ||
			pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: the pod is not hardened: %+v", name, pod)
		}
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			s := c.SecurityContext
			if s == nil || *s.AllowPrivilegeEscalation || s.Capabilities.Drop[0] != "ALL" ||
				c.Resources.Limits.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
				t.Errorf("%s: container %s is not hardened: %+v", name, c.Name, c)
			}
		}
	}
	main := service.Spec.Containers[0]
	if got := main.Resources.Requests.Memory().Value(); got != 64<<20 {
		t.Errorf("a service with a limit of 64 MiB requests %d bytes", got)
	}
	p := plugin.Spec.Containers[0].SecurityContext
	if *p.RunAsUser != unprivilegedUser || !*p.RunAsNonRoot || !*p.ReadOnlyRootFilesystem ||
		len(p.Capabilities.Add) > 0 {
		t.Errorf("a plugin whose image wants root runs as %+v", p)
	}
	if plugin.Labels[labelNetwork] != "" {
		t.Error("a plugin without network is admitted by the policy")
	}
}

// Secrets and files are in no part of a pod, and Kubernetes replaces nothing in what it is given.
func TestPods_HoldNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-4711"
	k := newTestServices(t, map[string]imageConfig{"r.test/p:1": {Entrypoint: []string{"/p"}}})
	s := agent.ServiceSpec{Step: "web", Deployment: internalDeployment,
		Image:     pipeline.Image{Registry: "r.test", Repository: "p", Tag: "1"},
		Command:   []string{"$(WHO)"},
		Env:       map[string]string{"WHO": "$(HOME) costs $5"},
		SecretEnv: map[string]string{"PASSWORD": secret},
		Files:     []pipeline.File{{Path: "/etc/app.conf", Content: secret}}}
	template, err := k.services.podTemplate(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := template.Marshal()
	if err != nil || strings.Contains(string(text), secret) ||
		strings.Contains(string(text), "PASSWORD") {
		t.Errorf("the pod holds a secret, or %v", err)
	}
	main := template.Spec.Containers[0]
	want := []string{"/p", "$$(WHO)"}
	if strings.Join(main.Args, " ") != strings.Join(want, " ") ||
		main.Env[0].Value != "$$(HOME) costs $$5" {
		t.Errorf("it is started with %q and %q", main.Args, main.Env)
	}
	without := s
	without.SecretEnv = map[string]string{"PASSWORD": "other"}
	again, err := k.services.podTemplate(t.Context(), without)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := hashParts(template)
	other, _ := hashParts(again)
	if one != other {
		t.Error("the digest of a service depends on its secrets, which could be guessed from it")
	}
}

// What cannot be done is refused before anything is made, all at once.
func TestStartService_RefusesWhatIsMissing(t *testing.T) {
	t.Parallel()
	k := newTestServices(t, nil)
	err := k.StartService(t.Context(), agent.ServiceSpec{Step: "db", Deployment: internalDeployment,
		Volumes: []pipeline.Volume{{Name: "data", Path: "/data"}}, GPUs: &pipeline.GPUs{Count: 1},
		StopSignal: "SIGINT", User: "postgres", Ready: &pipeline.Readiness{Image: true}})
	for _, want := range []string{"volumes", "GPUs", "stop signal", "health check of its image",
		"user by name (postgres", "node with Docker"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

// A plugin's lines are whole, its long ones are cut between characters, and what is beyond the
// limit of stdout is neither kept nor waited for.
func TestPluginOutput(t *testing.T) {
	t.Parallel()
	var lines []string
	o := newPluginOutput(agent.PluginSpec{StdoutLimit: 4},
		func(l string) { lines = append(lines, l) })
	long := strings.Repeat("a", maxLine-1) + "é" + "end"
	for _, p := range []string{"one\r\ntw", "o\n", long + "\n", "rest"} {
		if n, err := o.writeStderr([]byte(p)); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	for _, p := range []string{"1234", "5", "6"} {
		if n, err := o.writeStdout([]byte(p)); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	r := o.result()
	want := []string{"one", "two", strings.Repeat("a", maxLine-1), "éend", "rest"}
	if strings.Join(lines, "|") != strings.Join(want, "|") || r.Lines != 5 {
		t.Errorf("%d lines: %.80q", r.Lines, lines)
	}
	select {
	case <-o.overflow:
	default:
		t.Error("too much on stdout is not noticed")
	}
	if string(r.Stdout) != "1234" {
		t.Errorf("stdout is %q", r.Stdout)
	}
}
