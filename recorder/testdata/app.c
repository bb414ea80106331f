#include <mpi.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the traces of versions 2.3.3 and 2.4.0 are of: each rank writes a file of its own, and both write one. */
int main(int argc, char **argv) {
	int rank;
	char name[64], block[4096];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	memset(block, 'a' + rank, sizeof block);
	snprintf(name, sizeof name, "out.%d", rank);
	int fd = open(name, O_CREAT | O_RDWR | O_TRUNC, 0644);
	for (int i = 0; i < 10; i++)
		write(fd, block, sizeof block);
	lseek(fd, 4096, SEEK_SET);
	read(fd, block, 100);
	pwrite(fd, block, 64, 20000);
	fsync(fd);
	close(fd);
	FILE *f = fopen("shared.txt", "a");
	fprintf(f, "rank %d\n", rank);
	fclose(f);
	MPI_File mf;
	MPI_File_open(MPI_COMM_WORLD, "mpiio.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &mf);
	MPI_File_write_at(mf, 4096 * rank, block, 4096, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&mf);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
