/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * readers PROCESSES SECONDS [-PAUSE_US] DEVICE...: this many processes read 4 KiB at random positions with O_DIRECT, each on
 * one of the devices, for this long, all at the same time, with a pause after each read. SIGTERM ends them earlier, and so does the
 * end of whoever started them. Prints the sum of their reads.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shared {
	volatile int stop;
	unsigned long long reads;
};

static useconds_t pause_us;

static void end_sleep(int signal)
{
	(void)signal;
}

/* `gate` is the read end of a pipe that is closed when all processes have started. */
static void read_until_stopped(struct shared *shared, int gate, const char *device, unsigned int seed)
{
	int file = open(device, O_RDONLY | O_DIRECT);
	unsigned long long reads = 0;
	off_t blocks;
	void *buffer;

	if (file < 0 || posix_memalign(&buffer, 4096, 4096))
		_exit(1);
	blocks = lseek(file, 0, SEEK_END) / 4096;
	if (read(gate, buffer, 1))
		_exit(1);
	while (!shared->stop) {
		seed = seed * 1664525 + 1013904223;
		if (pread(file, buffer, 4096, (off_t)(seed % blocks) * 4096) != 4096)
			_exit(1);
		reads++;
		if (pause_us)
			usleep(pause_us);
	}
	__sync_fetch_and_add(&shared->reads, reads);
	_exit(0);
}

int main(int count, char **arguments)
{
	struct shared *shared = mmap(0, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int processes, seconds, status, gate[2], failed = 0;

	signal(SIGTERM, end_sleep);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (count < 4 || shared == MAP_FAILED || pipe(gate))
		return 2;
	processes = atoi(arguments[1]);
	seconds = atoi(arguments[2]);
	if (arguments[3][0] == '-') {
		pause_us = atoi(arguments[3] + 1);
		arguments++;
		count--;
	}
	if (count < 4)
		return 2;
	for (int i = 0; i < processes; i++) {
		pid_t child = fork();

		if (child < 0) {
			perror("fork");
			shared->stop = 1;
			return 1;
		}
		if (!child) {
			close(gate[1]);
			read_until_stopped(shared, gate[0], arguments[3 + i % (count - 3)], i + 1);
		}
	}
	close(gate[1]);
	sleep(seconds);
	shared->stop = 1;
	for (int i = 0; i < processes; i++)
		if (wait(&status) < 0 || status)
			failed++;
	printf("%llu\n", shared->reads);
	return failed ? 1 : 0;
}
