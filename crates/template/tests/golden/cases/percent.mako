%% at the begin
  %% indented
%%% three
%%%% four
100% in the middle
50 %% stays


	%% after blanks
${"%d%%" % 5}
