#ifndef CG_SPAWN_H
#define CG_SPAWN_H

#include <asm/termbits.h>
#include <sys/types.h>

// cg_program says what to start. The strings and arrays belong to the caller.
struct cg_program {
	char *path;
	char **argv;
	char **envp;
	char *dir;             // NULL: where we are
	int fds[3];            // become 0, 1, 2; -1 is a closed one
	int slave;             // the program's terminal; -1: no pty
	int sock;              // the keeper's end of a SOCK_SEQPACKET pair; pty only
	int terminal;          // the user's terminal, or -1; pty only
	int group;             // the folder of its control group; -1: ours
	struct termios saved;  // its modes before raw
	struct termios raw;    // its modes in raw
};

// cg_message is what the keeper tells: first {pid, errno of exec}, then {0, signal} for each stop.
struct cg_message {
	int pid;
	int value;
};

// cg_spawn starts the program in a process group of its own. Without a pty *pid is the program. With one, *keeper is
// the keeper, a child of ours that leads the new session and is the program's parent; its first message tells the
// program's pid. Returns 0 or an errno.
int cg_spawn(const struct cg_program *p, pid_t *pid, pid_t *keeper);

// cg_closed says whether a standard descriptor was closed when this process started.
int cg_closed(int fd);

#endif
