// Command kubernetes is a whole Kubernetes in one program, for tests against a real cluster:
// the first argument says which component it is, the others are that component's flags.
//
//	kubernetes etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubelet|kube-proxy ...
//	kubernetes kubectl|dns|policies ...
//
// One program is linked once, where seven would be linked one by one, and needs a third of the
// room. dns and policies are ours, all others are the originals. tools/setup/kubernetes.sh builds
// it; nothing of it is part of the product.
package main

import (
	"context"
	"fmt"
	"os"
	_ "time/tzdata" // the controller manager reads time zones of CronJobs

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // what the originals register
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var components = map[string]func() *cobra.Command{
	"kube-apiserver": func() *cobra.Command { return apiserver.NewAPIServerCommand() },
	"kube-controller-manager": func() *cobra.Command {
		return manager.NewControllerManagerCommand()
	},
	"kube-scheduler": func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet": func() *cobra.Command {
		return kubelet.NewKubeletCommand(context.Background())
	},
	"kube-proxy": func() *cobra.Command { return proxy.NewProxyCommand() },
	"kubectl":    func() *cobra.Command { return kubectl.NewDefaultKubectlCommand() },
	"dns":        newDNSCommand,
	"policies":   newPoliciesCommand,
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: kubernetes etcd|kube-apiserver|kube-controller-manager|"+
			"kube-scheduler|kubelet|kube-proxy|kubectl|dns|policies [flags]")
		os.Exit(2)
	}
	name := os.Args[1]
	os.Args = append([]string{name}, os.Args[2:]...)
	if name == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	newCommand, ok := components[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "there is no component %q\n", name)
		os.Exit(2)
	}
	command := newCommand()
	if name == "kubectl" { // prints its errors in a way of its own
		cmdutil.CheckErr(cli.RunNoErrOutput(command))
		return
	}
	os.Exit(cli.Run(command))
}
