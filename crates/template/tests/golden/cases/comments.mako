## gone
   ## gone too
#one stays
  # stays
a ## stays
### gone
##\
gone as well
end
