// Package manifests has the plain manifests that tools/charts.sh makes from the charts of
// deploy/helm, for clusters that are managed without Helm.
package manifests

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

//go:embed nullops-agent.yaml
var agentText []byte

// What the manifest has in the place of an installation's own.
const (
	agentName  = "nullops-agent"
	agentImage = "nullops/agent:dev"
)

// AgentOptions are what one installation of the agent differs in. They do what the values of the
// chart do; what is empty stays as the chart has it.
type AgentOptions struct {
	// Name is that of the objects and of their namespace.
	Name  string
	Image string
	// Connect is the URL that the agent dials; without one it listens, behind a Service.
	Connect     string
	Fingerprint string
	// Service is the type of the Service: ClusterIP, NodePort or LoadBalancer.
	Service   string
	Port      int
	NodePort  int
	Websocket bool
	// Authorities names a ConfigMap with certificates to trust beside the public ones.
	Authorities string
	// PullSecret names the Secret with which the image is pulled.
	PullSecret string
}

func (o AgentOptions) check() error {
	switch {
	case o.Connect != "" && o.Websocket:
		return errors.New("--websocket: with --connect the agent listens nowhere; leave one of " +
			"them out")
	case o.Connect != "" && (o.Service != "" || o.Port != 0 || o.NodePort != 0):
		return errors.New("--service, --port and --node-port: with --connect the agent listens " +
			"nowhere; leave them out")
	case o.Service != "" && !slices.Contains([]string{"ClusterIP", "NodePort", "LoadBalancer"},
		o.Service):
		return fmt.Errorf("--service: %q is none; write ClusterIP, NodePort or LoadBalancer",
			o.Service)
	case o.NodePort != 0 && o.Service != "NodePort":
		return errors.New("--node-port: give --service=NodePort too")
	}
	return nil
}

// WriteAgent writes the manifest of the agent.
func WriteAgent(w io.Writer, o AgentOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	from := yaml.NewDecoder(bytes.NewReader(agentText))
	to := yaml.NewEncoder(w)
	to.SetIndent(2)
	for {
		var document yaml.Node
		err := from.Decode(&document)
		if errors.Is(err, io.EOF) {
			return to.Close()
		}
		if err != nil {
			return fmt.Errorf("read the manifest of the agent: %w", err)
		}
		root := document.Content[0]
		if root.Kind != yaml.MappingNode {
			continue // comments only
		}
		if findNode(root, "kind").Value == "Service" && o.Connect != "" {
			continue
		}
		o.fillDocument(root)
		if err := to.Encode(&document); err != nil {
			return err
		}
	}
}

func (o AgentOptions) fillDocument(root *yaml.Node) {
	switch findNode(root, "kind").Value {
	case "ConfigMap":
		data := findNode(root, "data")
		for _, set := range [][2]string{{"NULLOPS_AGENT_CONNECT", o.Connect},
			{"NULLOPS_AGENT_FINGERPRINT", o.Fingerprint},
			{"NULLOPS_AGENT_WEBSOCKET", o.websocketAddress()},
			{"SSL_CERT_DIR", unlessEmpty(o.Authorities, "/etc/ssl/certs:/authorities")},
			{"NULLOPS_AGENT_KUBERNETES_PULLSECRETS", unlessEmpty(o.PullSecret, "/pull")}} {
			if set[1] != "" {
				addText(data, set[0], set[1])
			}
		}
	case "Deployment":
		o.fillPod(findNode(root, "spec", "template"))
	case "Service":
		o.fillService(findNode(root, "spec"))
	}
	o.replaceNames(root, "")
}

func (o AgentOptions) websocketAddress() string {
	if o.Websocket {
		return ":5001"
	}
	return ""
}

// unlessEmpty is a setting that only makes sense beside an option.
func unlessEmpty(option, setting string) string {
	if option == "" {
		return ""
	}
	return setting
}

// mountVolume puts a read-only volume into the pod, from a source like configMap.
func mountVolume(pod, container *yaml.Node, name, kind string, source *yaml.Node) {
	mounts, volumes := findNode(container, "volumeMounts"), findNode(pod, "volumes")
	mounts.Content = append(mounts.Content, newMapping("name", name, "mountPath", "/"+name,
		"readOnly", "true"))
	volume := newMapping("name", name)
	addNode(volume, kind, source)
	volumes.Content = append(volumes.Content, volume)
}

func (o AgentOptions) mountAuthorities(pod, container *yaml.Node) {
	from := newMapping()
	addText(from, "name", o.Authorities)
	mountVolume(pod, container, "authorities", "configMap", from)
}

func (o AgentOptions) mountPullSecret(pod, container *yaml.Node) {
	own := newMapping("name", o.PullSecret)
	addNode(pod, "imagePullSecrets", newList(own))
	item := newMapping("key", ".dockerconfigjson", "path", o.PullSecret+".json")
	secret := newMapping("name", o.PullSecret)
	addNode(secret, "items", newList(item))
	source := newMapping()
	addNode(source, "secret", secret)
	projected := newMapping("defaultMode", "0440")
	addNode(projected, "sources", newList(source))
	mountVolume(pod, container, "pull", "projected", projected)
}

// fillPod changes the ports, and the annotation by which changed settings start the agent anew.
func (o AgentOptions) fillPod(template *yaml.Node) {
	sum := sha256.Sum256(fmt.Append(nil, o))
	findNode(template, "metadata", "annotations", "nullops.settings").Value =
		hex.EncodeToString(sum[:8])
	container := findNode(template, "spec", "containers", "0")
	pod := findNode(template, "spec")
	if o.Authorities != "" {
		o.mountAuthorities(pod, container)
	}
	if o.PullSecret != "" {
		o.mountPullSecret(pod, container)
	}
	ports := findNode(container, "ports")
	switch {
	case o.Connect != "":
		dropKey(container, "ports")
	case o.Websocket:
		ports.Content = append(ports.Content,
			newMapping("name", "websocket", "containerPort", "5001"))
	}
}

func (o AgentOptions) fillService(spec *yaml.Node) {
	if o.Service != "" {
		findNode(spec, "type").Value = o.Service
	}
	ports := findNode(spec, "ports")
	first := ports.Content[0]
	if o.Port != 0 {
		findNode(first, "port").Value = strconv.Itoa(o.Port)
	}
	if o.NodePort != 0 {
		first.Content = append(first.Content,
			newMapping("nodePort", strconv.Itoa(o.NodePort)).Content...)
	}
	if o.Websocket {
		ports.Content = append(ports.Content,
			newMapping("name", "websocket", "port", "5001", "targetPort", "websocket"))
	}
}

// replaceNames puts name and image wherever the manifest has those of the chart.
func (o AgentOptions) replaceNames(n *yaml.Node, key string) {
	switch {
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			o.replaceNames(n.Content[i+1], n.Content[i].Value)
		}
	case n.Kind == yaml.SequenceNode:
		for _, one := range n.Content {
			o.replaceNames(one, key)
		}
	case n.Value == agentName && o.Name != "" && key != "app.kubernetes.io/name":
		n.Value = o.Name
	case n.Value == agentName+"-default" && o.Name != "":
		n.Value = o.Name + "-default"
	case n.Value == agentImage && o.Image != "":
		n.Value = o.Image
	}
}

// findNode follows keys, and indexes of lists. The manifest is our own, and a test reads all of
// it: a path that does not exist is an empty node.
func findNode(n *yaml.Node, path ...string) *yaml.Node {
	for _, part := range path {
		next := &yaml.Node{}
		if n.Kind == yaml.SequenceNode {
			if i, err := strconv.Atoi(part); err == nil && i < len(n.Content) {
				next = n.Content[i]
			}
		}
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == part {
				next = n.Content[i+1]
			}
		}
		n = next
	}
	return n
}

func dropKey(n *yaml.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}

func addText(n *yaml.Node, key, value string) {
	addNode(n, key, &yaml.Node{Kind: yaml.ScalarNode, Value: value, Style: yaml.DoubleQuotedStyle})
}

func addNode(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
}

func newList(one *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{one}}
}

// newMapping is a mapping of plain values.
func newMapping(pairs ...string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, text := range pairs {
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: text})
	}
	return n
}
