package access

import (
	"slices"
	"strings"
)

// CheckAnswer allows answering an approval of the deployment. The teams and users it names may
// answer if they can see the deployment, even with read access only. If it names none, full access
// is required.
func CheckAnswer(a Actor, o Object, teams, users []string) error {
	if err := Check(a, ReadDeployment, o); err != nil || a.IsAdmin() {
		return err
	}
	if len(teams)+len(users) == 0 {
		return Check(a, WriteDeployment, o)
	}
	member := func(team string) bool { return slices.Contains(a.user.Teams, team) }
	if slices.Contains(users, a.user.Name) || slices.ContainsFunc(teams, member) {
		return nil
	}
	return forbiddenError("you may not answer this", "Ask "+DescribeAnswerers(teams, users)+".")
}

// DescribeAnswerers formats who may answer, besides admins.
func DescribeAnswerers(teams, users []string) string {
	var who []string
	for _, t := range teams {
		who = append(who, "a member of team "+t)
	}
	who = append(who, users...)
	if len(who) == 0 {
		return "somebody with full access to the project or the environment"
	}
	if last := len(who) - 1; last > 0 {
		return strings.Join(who[:last], ", ") + " or " + who[last]
	}
	return who[0]
}
