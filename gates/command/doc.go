// Package command is the command line of validate: one file per subcommand, run
// in-process by Main so that tests can see what users see. It turns flags into
// questions and answers into tables, files and an exit status; what is asked is
// for package gates and its siblings.
package command
