/* Programs that tell cg of their requests, in C and in C++: the first argument says which. */
#include "codegreen_requests.h"

/* spin uses the processor so long. */
static void spin(long ms)
{
	struct timespec t;
	long long until;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	until = (long long)t.tv_sec * 1000000000 + t.tv_nsec + ms * 1000000;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while ((long long)t.tv_sec * 1000000000 + t.tv_nsec < until);
}

static void *work(void *request)
{
	spin(20);
	codegreen_end_request((codegreen_request *)request); /* which another thread began */
	return NULL;
}

static void requests(long times)
{
	long n;
	pid_t child = -1;
	const pid_t parent = getpid();
	const struct timespec rest = {0, 50000000};
	codegreen_request before = codegreen_annotate_request("open at the fork");
	if (times < 0)
		child = fork();
	while (child == 0) {
		codegreen_request forked = codegreen_annotate_request("forked");
		spin(10);
		codegreen_end_request(&forked);
		codegreen_end_request(&before); /* which is the parent's */
		if (getppid() != parent)
			_exit(0);
		nanosleep(&rest, NULL);
	}
	for (n = 0; n != times; n++) {
#ifdef __cplusplus
		{
			codegreen::request dear("GET /dear");
			spin(60);
		}
		try {
			codegreen::request cheap("GET /cheap");
			spin(20);
			throw n;
		} catch (long) {
		}
#else
		codegreen_request dear = codegreen_annotate_request("GET /dear"), cheap;
		spin(60);
		codegreen_end_request(&dear);
		codegreen_end_request(&dear);
		cheap = codegreen_annotate_request("GET /cheap");
		spin(20);
		codegreen_end_request(&cheap);
#endif
		if (n < 3) {
			pthread_t thread;
			codegreen_request elsewhere = codegreen_annotate_request("elsewhere");
			pthread_create(&thread, NULL, work, &elsewhere);
			pthread_join(thread, NULL);
		}
	}
	codegreen_end_request(&before);
}

/* lines says what is said of requests: id, "begin" or "end", name, microseconds, thread and nanoseconds. */
static int lines(int count, char **words)
{
	char line[CODEGREEN_LINE_MOST];
	for (; count >= 6; count -= 6, words += 6) {
		const char *name = strcmp(words[1], "begin") == 0 ? words[2] : NULL;
		fwrite(line, 1, (size_t)codegreen_request_line(line, atol(words[0]), name, atoll(words[3]), atol(words[4]), atoll(words[5])), stdout);
	}
	return count;
}

int main(int argc, char **argv)
{
	int n;
	if (argc > 1 && strcmp(argv[1], "requests") == 0)
		requests(argc > 2 ? atol(argv[2]) : -1);
	else if (argc > 1 && strcmp(argv[1], "lines") == 0)
		return lines(argc - 2, argv + 2);
	for (n = 0; argc > 1 && strcmp(argv[1], "flood") == 0 && n < 50000; n++) {
		codegreen_request request;
		errno = EDOM;
		request = codegreen_annotate_request("GET /flood");
		codegreen_end_request(&request);
		if (errno != EDOM)
			return 3;
	}
	if (n)
		printf("dropped: %ld\n", codegreen_dropped_annotations());
	return 0;
}
