// The end of a rank is one sentence that is the same in every run. The texts are what mpirun of Open MPI 4.1.4 prints.
#include "verifier/worker/launcher_words.h"

#include <gtest/gtest.h>

namespace reshardcheck {
namespace {

TEST(LauncherWords, NameTheRankAndTheSignal) {
  const char* const text =
      "[vm:28337] Signal: Segmentation fault (11)\n"
      "Primary job  terminated normally, but 1 process returned\n"
      "a non-zero exit code. Per user-direction, the job has been aborted.\n"
      "mpirun noticed that process rank 2 with PID 28337 on node vm exited on signal 11 (Segmentation fault).\n";
  EXPECT_EQ(fate_of_ranks(text), "rank 2 was killed by signal 11 (Segmentation fault) under mpirun");
}

TEST(LauncherWords, NameTheRankThatExited) {
  EXPECT_EQ(fate_of_ranks("mpirun has exited due to process rank 13 with PID 0 on\n"
                          "node vm exiting improperly. There are three reasons this could occur:\n"),
            "rank 13 exited by itself under mpirun");
  EXPECT_EQ(fate_of_ranks("mpirun detected that one or more processes exited with non-zero status, thus causing\n"
                          "the job to be terminated. The first process to do so was:\n\n"
                          "  Process name: [[64085,1],2]\n  Exit code:    3\n"),
            "rank 2 exited with code 3 under mpirun");
}

TEST(LauncherWords, NameTheHostThatIsOutOfReach) {
  EXPECT_EQ(fate_of_ranks("ORTE has lost communication with a remote daemon.\n\n"
                          "  HNP daemon   : [[9021,0],0] on node near\n"
                          "  Remote daemon: [[9021,0],1] on node far\n\n"
                          "This is usually due to either a failure of the TCP network\n"),
            "mpirun lost the connection to host far");
  EXPECT_EQ(fate_of_ranks("ORTE has lost communication with a remote daemon"), std::nullopt);
}

TEST(LauncherWords, SayNothingOfTextsThatNameNoRank) {
  for (const char* const text :
       {"", "process rank ", "process rank 2 with PID 7 on node vm", "process rank x with PID ",
        "process rank 2\n with PID 7 exited on signal ", "  Process name: [[1,1],\n",
        "Process name: [[64085,1],2]\nExit code: \n", "a subject's own words"}) {
    EXPECT_EQ(fate_of_ranks(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace reshardcheck
